
#include "calibrate/calibrate.h"
#include "support/files/digits.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// What is decided holds for the network that is written: values that lose much in integers
/// have no error any more once they are float, and ranges, biases and integers of weights that
/// come after them must not make up for one.
void expect_decided_as_written(const std::string& calibrator) {
  const Digits digits;
  const Toolkit& toolkit = Toolkit::builtin();
  const CalibrateOptions options{.samples = 16};
  Config config;
  config.slowdown = 0.5;
  config.activations.calibrator.name = calibrator;
  const QuantizeResult result = quantize(digits.model, *digits.data, config, toolkit, options);
  ASSERT_FALSE(result.float_nodes.empty());
  const QuantTable again =
      calibrate_sequentially(result.simulated, *digits.data, toolkit.calibrators, options);
  ASSERT_EQ(result.table.size(), again.size());
  for (const auto& [name, point] : again) {
    EXPECT_EQ(result.table.at(name).params, point.params) << name;
    EXPECT_EQ(result.table.at(name).rounding, point.rounding) << name;
  }
}

TEST(LayersThatStayInFloat, AreKnownBeforeTheOthersAreDecided) {
  expect_decided_as_written("mse");
}

TEST(LayersThatStayInFloat, AreKnownBeforeCalibratorsAreTried) {
  expect_decided_as_written("auto");
}

}  // namespace
}  // namespace tare::test
