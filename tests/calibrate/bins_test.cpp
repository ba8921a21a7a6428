#include "tare/bins.h"

#include "calibrate/calibrator_support.h"

#include <gtest/gtest.h>

namespace tare {
namespace {

TEST(Stretches, HoldAllValuesButZerosInOrder) {
  const std::vector<float> values = with(normal_values(5000), {0, 0, 0, 100});
  const Summary seen = summary_of(values);
  std::uint64_t count = 0;
  double end = seen.low();
  for (const Stretch& part : stretches(seen)) {
    EXPECT_GE(part.from, end);
    EXPECT_LE(part.width(), seen.bin_width());
    const auto inside = std::count_if(values.begin(), values.end(), [&](float value) {
      const auto x = static_cast<double>(value);
      return x != 0 && x >= part.from && (x < part.to || (x == part.to && x == seen.high()));
    });
    EXPECT_EQ(part.count, static_cast<std::uint64_t>(inside));
    count += part.count;
    end = part.to;
  }
  EXPECT_EQ(count, values.size() - 3);
  EXPECT_EQ(end, seen.high());
}

TEST(Stretches, OfOneValueAreThatValue) {
  EXPECT_EQ(stretches(summary_of({0.7F, 0.7F})),
            (std::vector<Stretch>{{static_cast<double>(0.7F), static_cast<double>(0.7F), 2}}));
  EXPECT_EQ(stretches(summary_of({-4})), (std::vector<Stretch>{{-4, -4, 1}}));
  EXPECT_TRUE(stretches(summary_of({0})).empty());
  EXPECT_TRUE(stretches(Summary()).empty());
}

TEST(SeenAndZero, IsTheRangeThatWasSeenWidenedToHoldZero) {
  EXPECT_EQ(seen_and_zero(summary_of({2, 3})), (Range{0, 3}));
  EXPECT_EQ(seen_and_zero(summary_of({-3, -2})), (Range{-3, 0}));
  EXPECT_EQ(seen_and_zero(summary_of({-3, 2})), (Range{-3, 2}));
}

}  // namespace
}  // namespace tare
