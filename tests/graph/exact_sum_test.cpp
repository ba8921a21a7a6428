#include "tare/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Magnitudes from 2^-150 to 2^150, both signs.
std::vector<double> wild_values(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<double> values(count);
  for (double& x : values) {
    const auto mantissa = static_cast<double>(random() >> 11U);
    x = std::ldexp((random() & 1U) != 0 ? mantissa : -mantissa,
                   static_cast<int>(random() % 300) - 200);
  }
  return values;
}

TEST(ExactSum, KeepsWhatARoundedSumLoses) {
  ExactSum sum;
  for (const double x : {0x1p100, 1.0, 0x1p-100, -0x1p100, -1.0}) {
    sum.add(x);
  }
  EXPECT_EQ(sum.value(), 0x1p-100);
}

TEST(ExactSum, OfAnyOrderAndGroupingIsTheSame) {
  std::vector<double> values = wild_values(2000, 1);
  ExactSum whole;
  for (const double x : values) {
    whole.add(x);
  }
  std::mt19937 random(2);
  for (int round = 0; round < 10; ++round) {
    std::shuffle(values.begin(), values.end(), random);
    std::vector<ExactSum> parts(7);
    for (const double x : values) {
      parts[random() % parts.size()].add(x);
    }
    ExactSum merged;
    for (const ExactSum& part : parts) {
      merged.add(part);
    }
    EXPECT_EQ(merged, whole);
  }
}

TEST(ExactSum, OfANumberAndItsOppositeIsZero) {
  const std::vector<double> values = wild_values(500, 3);
  ExactSum sum;
  for (const double x : values) {
    sum.add(x);
  }
  for (const double x : values) {
    sum.add(-x);
  }
  EXPECT_EQ(sum, ExactSum());
  EXPECT_EQ(sum.value(), 0);
}

TEST(ExactSum, GivesBackSingleNumbers) {
  for (const double x :
       {1.0, -1.0, 3.0e38, -1.0e-45, 0.1, 0.0, 0x1.fffffffffffffp200, 0x1p-224}) {
    ExactSum sum;
    sum.add(x);
    EXPECT_EQ(sum.value(), x);
  }
}

TEST(ExactSum, CutsOffWhatIsFinerThanItsUnit) {
  ExactSum sum;
  sum.add(0x1.8p-224);
  EXPECT_EQ(sum.value(), 0x1p-224);
  sum.add(std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(sum.value(), 0x1p-224);
}

TEST(ExactSum, AgreesWithIntegersOfTheCompiler) {
  __extension__ using Integer = __int128;
  std::mt19937_64 random(5);
  ExactSum sum;
  Integer expected = 0;
  for (int i = 0; i < 10000; ++i) {
    const auto value = static_cast<std::int64_t>(random()) >> 11U;
    sum.add(static_cast<double>(value));
    expected += value;
  }
  EXPECT_EQ(sum.value(), static_cast<double>(expected));
}

}  // namespace
}  // namespace tare::test
