// Values that TVM's tests of qnn.requantize give (test_op_qnn_requantize.py), and what other
// roundings make of them.
#include "tare/error.h"
#include "tare/execute.h"
#include "tare/graph.h"

#include <numeric>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

struct Mode {
  const char* name;
  const char* attributes;
};

const Mode kUpward{"upward", R"({rounding="upward"})"};
const Mode kUpwardInFloat{"upward_in_float", R"({rounding="upward", arithmetic="float"})"};
const Mode kToNearest{"to_nearest", R"({rounding="to_nearest"})"};
const Mode kToNearestInFloat{"to_nearest_in_float",
                             R"({rounding="to_nearest", arithmetic="float"})"};
const Mode kTfliteSingle{"tflite_single", R"({rounding="tflite_single"})"};
const Mode kTfliteDouble{"tflite_double", R"({rounding="tflite_double"})"};
const Mode kHalfEven{"half_even", R"({rounding="half_even"})"};
const Mode kShift{"shift", R"({rounding="shift"})"};

using Values = std::vector<std::int64_t>;

std::string extents(const Shape& shape) {
  std::string result;
  for (const std::int64_t extent : shape) {
    result += (result.empty() ? "[" : ",") + std::to_string(extent);
  }
  return result + "]";
}

/// `from` and `to`: element type and parameters, as "i8" and "q(0.5, 0)".
struct Side {
  std::string type;
  std::string params;
};

Values requantized(const Values& values, const Shape& shape, const Side& from, const Side& to,
                   const Mode& mode) {
  const Graph graph =
      parse("graph \"requantize\" opset 17 (%x : " + from.type + extents(shape) + " " +
            from.params + ") -> (%y) {\n" + "%y = Requantize(%x) " + mode.attributes + " : " +
            to.type + extents(shape) + " " + to.params + "\n}");
  Tensor input(graph.type(graph.inputs()[0]).dtype, shape);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (input.dtype() == DType::kInt64) {
      input.mutable_view<std::int64_t>()[i] = values[i];
    } else if (input.dtype() == DType::kInt32) {
      input.mutable_view<std::int32_t>()[i] = static_cast<std::int32_t>(values[i]);
    } else {
      input.mutable_view<std::int8_t>()[i] = static_cast<std::int8_t>(values[i]);
    }
  }
  const std::vector<Tensor> inputs{input};
  return Executable(graph).run(inputs)[0].to_int64();
}

Values requantized(const Values& values, const Side& from, const Side& to, const Mode& mode) {
  return requantized(values, {static_cast<std::int64_t>(values.size())}, from, to, mode);
}

/// first, first + step, ... of that many.
Values sequence(std::int64_t first, std::int64_t step, std::size_t count) {
  Values result(count);
  for (std::size_t i = 0; i < count; ++i) {
    result[i] = first + static_cast<std::int64_t>(i) * step;
  }
  return result;
}

/// Runs of equal values: {{value, how many}, ...}.
Values runs(std::initializer_list<std::pair<std::int64_t, std::size_t>> of) {
  Values result;
  for (const auto& [value, count] : of) {
    result.insert(result.end(), count, value);
  }
  return result;
}

class EveryRounding : public ::testing::TestWithParam<Mode> {
 protected:
  static Values of(const Values& values, const Side& from, const Side& to) {
    return requantized(values, from, to, GetParam());
  }
};

TEST_P(EveryRounding, KeepsValuesBetweenEqualParameters) {
  EXPECT_EQ(of(sequence(-100, 1, 200), {"i32", "q(0.5, 0)"}, {"i8", "q(0.5, 0)"}),
            sequence(-100, 1, 200));
  EXPECT_EQ(of(sequence(-100, 1, 200), {"i8", "q(0.5, 0)"}, {"i16", "q(0.5, 0)"}),
            sequence(-100, 1, 200));
}

TEST_P(EveryRounding, SaturatesAtTheEndsOfTheStorageType) {
  EXPECT_EQ(
      of(sequence(120, 1, 16), {"i32", "q(0.5, 0)"}, {"i8", "q(0.5, 0)"}),
      (Values{120, 121, 122, 123, 124, 125, 126, 127, 127, 127, 127, 127, 127, 127, 127, 127}));
  EXPECT_EQ(of(sequence(-120, -1, 16), {"i32", "q(0.5, 0)"}, {"i8", "q(0.5, 0)"}),
            (Values{-120, -121, -122, -123, -124, -125, -126, -127, -128, -128, -128, -128,
                    -128, -128, -128, -128}));
  EXPECT_EQ(of({32760, 32767, 32768, 40000, -32768, -32769}, {"i32", "q(0.5, 0)"},
               {"i16", "q(0.5, 0)"}),
            (Values{32760, 32767, 32767, 32767, -32768, -32768}));
  EXPECT_EQ(of({2147483647, -2147483648}, {"i32", "q(1, 0)"}, {"u8", "q(0.001953125, 3)"}),
            (Values{255, 0}));
}

TEST_P(EveryRounding, SaturatesAllButTheZeroPointWhereTheFactorIsInfinite) {
  const Side huge{"i32", "q(1267650600228229401496703205376, 0)"};  // 2^100, and 2^-100
  EXPECT_EQ(of({0, 1, -1, 2147483647}, huge, {"i8", "q(7.888609052210118e-31, 3)"}),
            (Values{3, 127, -128, 127}));
}

TEST_P(EveryRounding, DoublesExactly) {
  EXPECT_EQ(of(sequence(-32, 1, 64), {"i32", "q(2, 0)"}, {"i8", "q(1, 0)"}),
            sequence(-64, 2, 64));
}

TEST_P(EveryRounding, AddsTheZeroPointOfTheResult) {
  EXPECT_EQ(of(sequence(-10, 1, 20), {"i32", "q(1, 0)"}, {"i8", "q(1, 1)"}),
            sequence(-9, 1, 20));
}

TEST_P(EveryRounding, IsPerChannelOfItsOperand) {
  // Twice as many steps stay, a quarter of them does not: even values show no rounding.
  EXPECT_EQ(
      requantized(sequence(-20, 2, 20), {2, 2, 5}, {"i32", "q(axis=1, [0.5, 0.25], [0, 0])"},
                  {"i8", "q(0.5, 0)"}, GetParam()),
      (Values{-20, -18, -16, -14, -12, -5, -4, -3, -2, -1, 0, 2, 4, 6, 8, 5, 6, 7, 8, 9}));
  EXPECT_EQ(requantized(sequence(-5, 1, 10), {5, 2}, {"i32", "q(axis=1, [0.5, 0.5], [0, 0])"},
                        {"i8", "q(0.5, 0)"}, GetParam()),
            sequence(-5, 1, 10));
}

INSTANTIATE_TEST_SUITE_P(Each, EveryRounding,
                         ::testing::Values(kUpward, kUpwardInFloat, kToNearest,
                                           kToNearestInFloat, kTfliteSingle, kTfliteDouble,
                                           kHalfEven, kShift),
                         [](const auto& info) { return info.param.name; });

struct Halves {
  Mode mode;
  Values down_from_0;    ///< of 0, 1, ... 31 by 16
  Values down_to_minus;  ///< of 0, -1, ... -31 by 16
  Values quarters;       ///< of -6 ... 6 by 4
};

class HalvesOf : public ::testing::TestWithParam<Halves> {};

TEST_P(HalvesOf, GoWhereTheRoundingSays) {
  const Halves& halves = GetParam();
  const Side from{"i32", "q(1, 0)"};
  const Side to{"i8", "q(16, 0)"};
  EXPECT_EQ(requantized(sequence(0, 1, 32), from, to, halves.mode), halves.down_from_0);
  EXPECT_EQ(requantized(sequence(0, -1, 32), from, to, halves.mode), halves.down_to_minus);
  EXPECT_EQ(requantized(sequence(-6, 1, 13), from, {"i8", "q(4, 0)"}, halves.mode),
            halves.quarters);
  EXPECT_EQ(requantized(sequence(16, 1, 32), {"i32", "q(1, 16)"}, to, halves.mode),
            halves.down_from_0)
      << "zero point of the operand";
}

const Values kUp = runs({{0, 8}, {1, 16}, {2, 8}});
const Values kUpBelow = runs({{0, 9}, {-1, 16}, {-2, 7}});
const Values kAwayBelow = runs({{0, 8}, {-1, 16}, {-2, 8}});
const Values kQuartersUp = {-1, -1, -1, -1, 0, 0, 0, 0, 1, 1, 1, 1, 2};
const Values kQuartersAway = {-2, -1, -1, -1, -1, 0, 0, 0, 1, 1, 1, 1, 2};

INSTANTIATE_TEST_SUITE_P(
    Each, HalvesOf,
    ::testing::Values(Halves{kUpward, kUp, kUpBelow, kQuartersUp},
                      Halves{kUpwardInFloat, kUp, kUpBelow, kQuartersUp},
                      Halves{kTfliteSingle, kUp, kUpBelow, kQuartersUp},
                      Halves{kShift, kUp, kUpBelow, kQuartersUp},
                      Halves{kToNearest, kUp, kAwayBelow, kQuartersAway},
                      Halves{kToNearestInFloat, kUp, kAwayBelow, kQuartersAway},
                      // 7 / 16: half of it goes up to 4, an eighth of which is a half.
                      Halves{kTfliteDouble,
                             runs({{0, 7}, {1, 16}, {2, 9}}),
                             runs({{0, 8}, {-1, 16}, {-2, 8}}),
                             {-2, -1, -1, -1, -1, 0, 0, 1, 1, 1, 1, 2, 2}},
                      Halves{kHalfEven,
                             runs({{0, 9}, {1, 15}, {2, 8}}),
                             runs({{0, 9}, {-1, 15}, {-2, 8}}),
                             {-2, -1, -1, -1, 0, 0, 0, 0, 0, 1, 1, 1, 2}}),
    [](const auto& info) { return info.param.mode.name; });

TEST(Requantize, IsTvmsPerChannelInBothRoundings) {
  const Side halves{"i32", "q(axis=1, [0.5, 0.25], [0, 0])"};
  const Side to{"i8", "q(0.5, 0)"};
  EXPECT_EQ(requantized(sequence(-5, 1, 10), {5, 2}, halves, to, kUpward),
            (Values{-5, -2, -3, -1, -1, 0, 1, 1, 3, 2}));
  const Side twice{"i32", "q(axis=1, [1, 0.25], [0, 0])"};
  EXPECT_EQ(requantized(sequence(-5, 1, 10), {5, 2}, twice, to, kUpward),
            (Values{-10, -2, -6, -1, -2, 0, 2, 1, 6, 2}));
}

TEST(Requantize, ToInt32IsForFixedPoint) {
  EXPECT_EQ(requantized({3, -3, 2147483647}, {"i32", "q(1, 0)"}, {"i32", "q(0.5, 0)"}, kUpward),
            (Values{6, -6, 2147483647}));
  EXPECT_THROW(requantized({3}, {"i32", "q(1, 0)"}, {"i32", "q(0.5, 0)"}, kHalfEven), Error);
}

TEST_P(HalvesOf, GoTheSameWayFromSumsOf64Bits) {
  const Halves& halves = GetParam();
  if (std::string(halves.mode.name) == "tflite_double") {
    EXPECT_THROW(requantized({3}, {"i64", "q(1, 0)"}, {"i16", "q(16, 0)"}, halves.mode), Error);
    return;
  }
  const Side to{"i16", "q(16, 0)"};
  EXPECT_EQ(requantized(sequence(0, 1, 32), {"i64", "q(1, 0)"}, to, halves.mode),
            halves.down_from_0);
  EXPECT_EQ(requantized(sequence(0, -1, 32), {"i64", "q(1, 0)"}, to, halves.mode),
            halves.down_to_minus);
  // The same 2^30 times as far from 0, and as much finer: float32 has 24 bits for them.
  Values far = sequence(0, 1, 32);
  Values below = sequence(0, -1, 32);
  for (std::size_t i = 0; i < far.size(); ++i) {
    far[i] *= std::int64_t{1} << 30;
    below[i] *= std::int64_t{1} << 30;
  }
  const Side fine{"i64", "q(9.31322574615478515625e-10, 0)"};
  EXPECT_EQ(requantized(far, fine, to, halves.mode), halves.down_from_0);
  EXPECT_EQ(requantized(below, fine, to, halves.mode), halves.down_to_minus);
  EXPECT_EQ(
      requantized({std::int64_t{1} << 50, -(std::int64_t{1} << 50)}, fine, to, halves.mode),
      (Values{32767, -32768}));
}

TEST(Requantize, OfSumsOf64BitsSeesTheLastBitInFixedPoint) {
  // Half a step, and one less: 41 significant bits.
  const std::int64_t half = std::int64_t{1} << 40;
  const Side from{"i64", "q(9.094947017729282379150390625e-13, 0)"};  // 2^-40
  EXPECT_EQ(requantized({half, half - 1, -half, -half - 1}, from, {"i16", "q(2, 0)"}, kUpward),
            (Values{1, 0, 0, -1}));
  EXPECT_EQ(
      requantized({half, half - 1, -half, 1 - half}, from, {"i16", "q(2, 0)"}, kToNearest),
      (Values{1, 0, -1, 0}));
}

TEST(Requantize, ByShiftNeedsAPowerOfTwo) {
  EXPECT_THROW(requantized({3}, {"i32", "q(1, 0)"}, {"i8", "q(3, 0)"}, kShift), Error);
}

}  // namespace
}  // namespace tare::test
