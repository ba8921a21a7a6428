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

TEST(BriefComparison, TakesAsManyAsItIsToldTo) {
  EXPECT_EQ(compared({.samples = 20, .brief = true}), 20U);
  EXPECT_EQ(compared({}), Digits().data->size());
}

}  // namespace
}  // namespace tare::test
