#include "tare/quantize.h"
#include "tare/report.h"
#include "tare/toolkit.h"

#include "support/files/digits.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

std::size_t compared(const CompareOptions& options) {
  const Digits digits;
  const QuantizeResult result = quantize(digits.model, *digits.data, {}, Toolkit::builtin());
  return compare_result(result, *digits.data, Toolkit::builtin(), options).samples;
}

TEST(BriefComparison, TakesAnEighthOfTheSamplesThatWereCalibratedOn) {
  const std::size_t all = Digits().data->size();
  ASSERT_GT(all, 64U);  // or 8 would be the least
  EXPECT_EQ(compared({.brief = true, .evaluated_on = EvaluatedOn::kCalibration}),
            std::min<std::size_t>(all / 8, 64));
}

TEST(BriefComparison, Takes64OfOtherSamples) {
  EXPECT_EQ(compared({.brief = true, .evaluated_on = EvaluatedOn::kHeldOut}),
            std::min<std::size_t>(Digits().data->size(), 64));
}

TEST(BriefComparison, TakesWholeRunsOfANetworkWithABatch) {
  const Digits digits;
  Config config;
  config.dims["batch"] = 16;
  const auto data = part_of(*digits.data, 0, 64);
  const Graph model = load_model(Digits::file("digits.onnx"), config.dims, data.get());
  const QuantizeResult result = quantize(model, *data, config, Toolkit::builtin());
  const Report report =
      compare_result(result, *data, Toolkit::builtin(),
                     {.brief = true, .evaluated_on = EvaluatedOn::kCalibration});
  EXPECT_EQ(report.samples, 16U);  // an eighth would be half a run
  EXPECT_EQ(compare_result(result, *data, Toolkit::builtin()).samples, 64U);
}

TEST(BriefComparison, TakesAsManyAsItIsToldTo) {
  EXPECT_EQ(compared({.samples = 20, .brief = true}), 20U);
  EXPECT_EQ(compared({}), Digits().data->size());
}

}  // namespace
}  // namespace tare::test
