
#include "tare/arithmetic.h"
#include "tare/error.h"
#include "tare/graph.h"

#include "graph/arithmetic/node_arithmetic.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using enum RequantizeRounding;
using enum RequantizeArithmetic;

// 64 bits of significand hold a product of two int32 numbers, and what rounding adds, exactly.
using Exact = long double;
static_assert(std::numeric_limits<Exact>::digits >= 64);

Exact half_up(Exact x) {
  return std::floor(x + 0.5L);
}

Exact half_away(Exact x) {
  return x < 0 ? -std::floor(0.5L - x) : std::floor(x + 0.5L);
}

std::int32_t saturated(Exact x) {
  return static_cast<std::int32_t>(std::clamp<Exact>(
      x, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()));
}

Exact product(std::int32_t value, FixedPointFactor factor) {
  return std::ldexp(Exact{1} * value * factor.significand, factor.exponent - 31);
}

std::int32_t upward(std::int32_t value, FixedPointFactor factor) {
  return saturated(half_up(product(value, factor)));
}

std::int32_t to_nearest(std::int32_t value, FixedPointFactor factor) {
  return saturated(half_away(product(value, factor)));
}

/// By the definition of gemmlowp: shift left, high product, shift right, with two roundings.
std::int32_t tflite_double(std::int32_t value, FixedPointFactor factor) {
  const Exact left = saturated(std::ldexp(Exact{1} * value, std::max(factor.exponent, 0)));
  const Exact high = half_up(std::ldexp(left * factor.significand, -31));
  return saturated(half_away(std::ldexp(high, std::min(factor.exponent, 0))));
}

struct Reference {
  const char* name;
  RequantizeRounding rounding;
  std::function<std::int32_t(std::int32_t, FixedPointFactor)> definition;
};

class Rescale : public ::testing::TestWithParam<Reference> {};

TEST_P(Rescale, RoundsTenMillionValuesAsDefined) {
  std::mt19937_64 random(1);
  constexpr std::int64_t kHalf = std::int64_t{1} << 30;
  for (int i = 0; i < 10'000'000; ++i) {
    // Small values meet halves, large ones the ends.
    const auto value = static_cast<std::int32_t>(static_cast<std::int32_t>(random()) >>
                                                 static_cast<int>(random() % 32));
    // One factor in four is a power of two, as most halves come from these.
    const auto fraction = static_cast<std::int64_t>(random() % kHalf);
    const FixedPointFactor factor{
        static_cast<std::int32_t>(kHalf + (i % 4 == 0 ? 0 : fraction)),
        static_cast<int>(random() % 40) - 31};
    ASSERT_EQ(rescale(value, factor, GetParam().rounding), GetParam().definition(value, factor))
        << value << " * " << factor.significand << " * 2^" << factor.exponent - 31;
  }
}

TEST_P(Rescale, SaturatesAndVanishesAtTheEnds) {
  constexpr std::int32_t kLow = std::numeric_limits<std::int32_t>::min();
  constexpr std::int32_t kHigh = std::numeric_limits<std::int32_t>::max();
  for (const int exponent : {-1000, -62, -40, -32, -31, -30, 0, 1, 2, 30, 31, 32, 64, 1000}) {
    for (const std::int32_t significand : {1 << 30, kHigh}) {
      for (const std::int32_t value : {kLow, kLow + 1, -2, -1, 0, 1, 2, kHigh}) {
        const FixedPointFactor factor{significand, exponent};
        EXPECT_EQ(rescale(value, factor, GetParam().rounding),
                  GetParam().definition(value, factor))
            << value << " * " << significand << " * 2^" << exponent - 31;
      }
    }
  }
  EXPECT_EQ(rescale(kHigh, {}, GetParam().rounding), 0);
}

// TVM's UPWARD and single rounding of TensorFlow Lite are one function.
INSTANTIATE_TEST_SUITE_P(Each, Rescale,
                         ::testing::Values(Reference{"upward", kUpward, upward},
                                           Reference{"tflite_single", kTfliteSingle, upward},
                                           Reference{"to_nearest", kToNearest, to_nearest},
                                           Reference{"tflite_double", kTfliteDouble,
                                                     tflite_double},
                                           Reference{"shift", kShift, upward}),
                         [](const auto& info) { return info.param.name; });

TEST(FixedPointFactor, IsTheNearestOf31Bits) {
  EXPECT_EQ(fixed_point_factor(1), (FixedPointFactor{1 << 30, 1}));
  EXPECT_EQ(fixed_point_factor(0.0625), (FixedPointFactor{1 << 30, -3}));
  EXPECT_EQ(fixed_point_factor(0), (FixedPointFactor{0, 0}));
  EXPECT_EQ(fixed_point_factor(1 - 0x1p-40), (FixedPointFactor{1 << 30, 1})) << "carries";
  std::mt19937_64 random(2);
  for (int i = 0; i < 10'000; ++i) {
    const double factor = std::ldexp(1 + static_cast<double>(random() >> 12) * 0x1p-52,
                                     static_cast<int>(random() % 60) - 40);
    const FixedPointFactor fixed = fixed_point_factor(factor);
    const double back = std::ldexp(fixed.significand, fixed.exponent - 31);
    EXPECT_LE(std::abs(back / factor - 1), 0x1p-31) << factor;
  }
}

TEST(RequantizeMode, SurvivesItsAttributes) {
  for (const RequantizeMode mode : {RequantizeMode{kHalfEven, kFloat},
                                    {kUpward, kFloat},
                                    {kUpward, kFixedPoint},
                                    {kToNearest, kFloat},
                                    {kToNearest, kFixedPoint},
                                    {kTfliteDouble, kFixedPoint},
                                    {kTfliteSingle, kFixedPoint},
                                    {kShift, kFixedPoint}}) {
    EXPECT_EQ(requantize_mode(to_attributes(mode)), mode);
  }
  EXPECT_EQ(requantize_mode({}), RequantizeMode{});
}

TEST(RequantizeMode, RefusesWhatDoesNotGoTogether) {
  const std::string half_even = "half_even";
  for (const Attributes& attributes :
       {Attributes{{"rounding", std::string("down")}},
        Attributes{{"rounding", half_even}, {"arithmetic", std::string("fixed_point")}},
        Attributes{{"rounding", std::string("shift")}, {"arithmetic", std::string("float")}},
        Attributes{{"rounding", std::string("upward")},
                   {"arithmetic", std::string("exact")}}}) {
    EXPECT_THROW(requantize_mode(attributes), Error);
  }
}

}  // namespace
}  // namespace tare::test
