#include "tare/pipeline.h"

#include "pipeline/digits.h"

#include <gtest/gtest.h>

namespace tare {
namespace {

/// What is chosen when whole networks are tried holds for the network that is tried.
TEST(TriedCalibrators, AreTriedOnTheNetworkWithTheLayersThatStayInFloat) {
  const Digits digits;
  const Toolkit& toolkit = Toolkit::builtin();
  const CalibrateOptions options{.samples = 16};
  Config config;
  config.slowdown = 0.5;
  config.activations.calibrator.name = "auto";
  const QuantizeResult result = quantize(digits.model, *digits.data, config, toolkit, options);
  ASSERT_FALSE(result.float_nodes.empty());
  const QuantTable again =
      calibrate_sequentially(result.simulated, *digits.data, toolkit.calibrators, options);
  ASSERT_EQ(result.table.size(), again.size());
  for (const auto& [name, point] : again) {
    EXPECT_EQ(result.table.at(name).params, point.params) << name;
  }
}

}  // namespace
}  // namespace tare
