// Operators against plain loops over all values, or over random ones.
#include "tare/execute.h"

#include "tflite/fixed_point.h"
#include "tflite/golden.h"
#include "tflite/import.h"
#include "tflite/row_values.h"

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using namespace tflite::schema;
using tare::Tensor;  // and not that of files

Tensor result_of(const RowCase& one) {
  const Graph graph = tflite::import_model(tflite::ModelFile(file_of(one)));
  std::vector<Tensor> given;
  for (const RowOperand& operand : one.operands) {
    if (operand.is_input()) {
      given.push_back(operand.values);
    }
  }
  return Executable(graph).run(given).at(0);
}

/// All pairs of numbers from -9 to 9, and of the least one with small divisors; no divisor is
/// 0.
struct Pairs {
  std::vector<std::int32_t> a;
  std::vector<std::int32_t> b;
};

Pairs divisions() {
  Pairs pairs;
  const auto add = [&](std::int32_t a, std::int32_t b) {
    pairs.a.push_back(a);
    pairs.b.push_back(b);
  };
  for (std::int32_t a = -9; a <= 9; ++a) {
    for (std::int32_t b = -9; b <= 9; ++b) {
      if (b != 0) {
        add(a, b);
      }
    }
  }
  for (const std::int32_t b : {-3, 1, 2, 3, 7}) {
    add(std::numeric_limits<std::int32_t>::min(), b);
  }
  return pairs;
}

std::int64_t floored(std::int64_t a, std::int64_t b) {
  std::int64_t quotient = 0;  // the largest that does not pass a / b
  if ((a < 0) == (b < 0)) {
    quotient = std::abs(a) / std::abs(b);
  } else {
    quotient = -((std::abs(a) + std::abs(b) - 1) / std::abs(b));
  }
  return quotient;
}

TEST(TfliteLoops, DivideIntegersDownwardsAndLeaveARestOfTheDivisorsSign) {
  const Pairs pairs = divisions();
  const Shape shape{static_cast<std::int64_t>(pairs.a.size())};
  const auto computed = [&](Builtin code) {
    return result_of(
               {code, {{i32(shape, pairs.a)}, {i32(shape, pairs.b)}}, {{i32(shape, pairs.a)}}})
        .to_int64();
  };
  const auto quotients = computed(Builtin_FLOOR_DIV);
  const auto rests = computed(Builtin_FLOOR_MOD);
  for (std::size_t i = 0; i < pairs.a.size(); ++i) {
    const std::int64_t quotient = floored(pairs.a[i], pairs.b[i]);
    EXPECT_EQ(quotients[i], quotient) << pairs.a[i] << " / " << pairs.b[i];
    EXPECT_EQ(rests[i], pairs.a[i] - quotient * pairs.b[i])
        << pairs.a[i] << " / " << pairs.b[i];
  }
}

TEST(TfliteLoops, DivideFloatsDownwardsAndLeaveARestOfTheDivisorsSign) {
  std::vector<float> a;
  std::vector<float> b;
  for (int i = -30; i <= 30; ++i) {
    for (const float divisor : {-2.5F, -0.75F, 0.75F, 2.5F}) {
      a.push_back(0.25F * static_cast<float>(i));  // all of it is exact
      b.push_back(divisor);
    }
  }
  const Shape shape{static_cast<std::int64_t>(a.size())};
  const auto computed = [&](Builtin code) {
    return result_of({code, {{f32(shape, a)}, {f32(shape, b)}}, {{f32(shape, a)}}}).to_float();
  };
  const auto quotients = computed(Builtin_FLOOR_DIV);
  const auto rests = computed(Builtin_FLOOR_MOD);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float quotient = std::floor(a[i] / b[i]);
    EXPECT_EQ(quotients[i], quotient) << a[i] << " / " << b[i];
    EXPECT_EQ(rests[i], a[i] - quotient * b[i]) << a[i] << " / " << b[i];
  }
}

std::vector<std::int8_t> all_bytes() {
  std::vector<std::int8_t> values(256);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::int8_t>(static_cast<int>(i) - 128);
  }
  return values;
}

/// What becomes of every pair of int8 values, row by row of the first.
std::vector<std::int64_t> of_all_pairs(Builtin code, const FileQuantization& a,
                                       const FileQuantization& b, const RowOperand& result,
                                       Numerics numerics) {
  const RowOperand x{Tensor::of<std::int8_t>({256, 1}, all_bytes()), false, a};
  const RowOperand y{Tensor::of<std::int8_t>({1, 256}, all_bytes()), false, b};
  const tflite::ModelFile file(file_of({code, {x, y}, {result}}));
  return Executable(integer_graph(file, numerics))
      .run(std::vector<Tensor>{x.values, y.values})
      .at(0)
      .to_int64();
}

struct Comparison {
  Builtin code;
  bool (*holds)(double, double);
};

const std::vector<Comparison>& comparisons() {
  static const std::vector<Comparison> all{
      {Builtin_EQUAL, [](double a, double b) { return a == b; }},
      {Builtin_NOT_EQUAL, [](double a, double b) { return a != b; }},
      {Builtin_LESS, [](double a, double b) { return a < b; }},
      {Builtin_LESS_EQUAL, [](double a, double b) { return a <= b; }},
      {Builtin_GREATER, [](double a, double b) { return a > b; }},
      {Builtin_GREATER_EQUAL, [](double a, double b) { return a >= b; }},
  };
  return all;
}

/// How often the comparison of all pairs is not that of `at` of both.
std::size_t mistaken(const Comparison& comparison, const FileQuantization& a,
                     const FileQuantization& b, Numerics numerics,
                     const std::function<double(int, const FileQuantization&)>& at) {
  const auto ours = of_all_pairs(comparison.code, a, b,
                                 {flags({256, 256}, std::vector<int>(65536))}, numerics);
  std::size_t wrong = 0;
  for (int i = 0; i < 65536; ++i) {
    const bool wanted = comparison.holds(at(i / 256 - 128, a), at(i % 256 - 128, b));
    wrong += (ours[static_cast<std::size_t>(i)] != 0) == wanted ? 0 : 1;
  }
  return wrong;
}

double real(int q, const FileQuantization& of) {
  return static_cast<double>(of.scale[0]) * static_cast<double>(q - of.zero_point[0]);
}

TEST(TfliteLoops, CompareIntegersInStepsOf256thsAsTheKernelsDo) {
  const FileQuantization a = per_tensor(0.0031F, -7);
  const FileQuantization b = per_tensor(0.0173F, 20);
  const auto in_steps = [](int q, const FileQuantization& of) {
    return static_cast<double>(
        fixed_point((q - of.zero_point[0]) * 256, static_cast<double>(of.scale[0])));
  };
  for (const Comparison& comparison : comparisons()) {
    for (const Numerics numerics :
         {Numerics::kTfliteRef, Numerics::kTfliteBuiltin, Numerics::kTfliteXnn}) {
      EXPECT_EQ(mistaken(comparison, a, b, numerics, in_steps), 0U)
          << EnumNameBuiltin(comparison.code);
    }
    // Which is not what the integers stand for.
    EXPECT_GT(mistaken(comparison, a, b, Numerics::kTfliteRef, real), 0U)
        << EnumNameBuiltin(comparison.code);
  }
}

TEST(TfliteLoops, CompareRealValuesInOtherNumerics) {
  const FileQuantization a = per_tensor(0.0009765625F, -7);  // so that all is exact
  const FileQuantization b = per_tensor(0.00390625F, 20);
  for (const Comparison& comparison : comparisons()) {
    EXPECT_EQ(mistaken(comparison, a, b, Numerics::kOnnx, real), 0U)
        << EnumNameBuiltin(comparison.code);
  }
}

TEST(TfliteLoops, SquareDifferencesOfAllIntegersAsTheKernelsDo) {
  const FileQuantization a = per_tensor(0.072F, -14);
  const FileQuantization b = per_tensor(0.027F, 117);
  const FileQuantization y = per_tensor(0.61F, -28);
  const RowOperand result{Tensor::of<std::int8_t>({256, 256}, std::vector<std::int8_t>(65536)),
                          false, y};
  const auto ours =
      of_all_pairs(Builtin_SQUARED_DIFFERENCE, a, b, result, Numerics::kTfliteRef);
  const double common = 2 * static_cast<double>(a.scale[0]);  // the larger one
  const auto aligned = [&](int q, const FileQuantization& of) {
    return fixed_point((q - of.zero_point[0]) * 128, static_cast<double>(of.scale[0]) / common);
  };
  std::size_t different = 0;
  for (int i = 0; i < 65536; ++i) {
    const std::int64_t d = aligned(i / 256 - 128, a) - aligned(i % 256 - 128, b);
    const std::int64_t square =
        fixed_point(d * d, common * common / (16384 * static_cast<double>(y.scale[0])));
    const std::int64_t wanted = std::clamp<std::int64_t>(square - 28, -128, 127);
    different += ours[static_cast<std::size_t>(i)] == wanted ? 0 : 1;
  }
  EXPECT_EQ(different, 0U);
}

/// What the operator makes of all int8 values, in rows of 32 unless told otherwise.
std::vector<std::int64_t> of_all_bytes(Builtin code, const FileQuantization& x,
                                       std::vector<RowOperand> others, const RowOperand& result,
                                       BuiltinOptions type = BuiltinOptions_NONE,
                                       const TfliteBuilder::Options& options = {},
                                       const Shape& shape = {8, 32}) {
  const RowOperand bytes{Tensor::of<std::int8_t>(shape, all_bytes()), false, x};
  others.insert(others.begin(), bytes);
  const tflite::ModelFile file(file_of({code, others, {result}, type, options}));
  return Executable(integer_graph(file, Numerics::kTfliteRef))
      .run(std::vector<Tensor>{bytes.values})
      .at(0)
      .to_int64();
}

TEST(TfliteLoops, SumsOfIntegersAreRescaledOnceAsTheReferenceKernelDoes) {
  const FileQuantization x = per_tensor(0.0193F, 5);
  const FileQuantization y = per_tensor(0.61F, -3);
  const auto ours =
      of_all_bytes(Builtin_SUM, x, {numbers({1})},
                   {Tensor::of<std::int8_t>({8}, std::vector<std::int8_t>(8)), false, y});
  for (std::int64_t row = 0; row < 8; ++row) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < 32; ++i) {
      sum += row * 32 + i - 128 - 5;
    }
    const std::int64_t steps =
        fixed_point(sum, static_cast<double>(x.scale[0]) / static_cast<double>(y.scale[0]));
    EXPECT_EQ(ours[static_cast<std::size_t>(row)],
              std::clamp<std::int64_t>(steps - 3, -128, 127));
  }
}

TEST(TfliteLoops, SumsOfIntegersRoundNegativeHalvesUpAsTheReferenceKernelDoes) {
  const auto ours = of_all_bytes(
      Builtin_SUM, per_tensor(0.5F, 5), {numbers({1})},
      {Tensor::of<std::int8_t>({256}, std::vector<std::int8_t>(256)), false, per_tensor(1, -3)},
      BuiltinOptions_NONE, {}, {256, 1});
  for (std::int64_t i = 0; i < 256; ++i) {
    const double halved = static_cast<double>(i - 128 - 5) / 2;
    EXPECT_EQ(ours[static_cast<std::size_t>(i)],
              static_cast<std::int64_t>(std::floor(halved + 0.5)) - 3);
  }
}

/// Exponentials have 19 bits behind the point where they are summed, and each share is rounded
/// to one of 65536 steps.
TEST(TfliteLoops, SoftmaxIn16BitsIsWithinTwoStepsOfTheRealOne) {
  const FileQuantization x = per_tensor(0.11F, 3);
  const auto ours =
      of_all_bytes(Builtin_SOFTMAX, x, {},
                   {Tensor::of<std::int16_t>({8, 32}, std::vector<std::int16_t>(256)), false,
                    per_tensor(1.0F / 65536, -32768)},
                   BuiltinOptions_SoftmaxOptions,
                   [](auto& to) { return CreateSoftmaxOptions(to, 1).Union(); });
  for (std::size_t i = 0; i < ours.size(); ++i) {
    double sum = 0;  // all rows are the same numbers apart from what softmax takes off
    for (std::size_t k = 0; k < 32; ++k) {
      sum += std::exp(static_cast<double>(x.scale[0]) *
                      (static_cast<double>(k) - static_cast<double>(i % 32)));
    }
    EXPECT_NEAR(static_cast<double>(ours[i]), 65536 / sum - 32768, 2) << i;
  }
}

TEST(TfliteLoops, CastSeesIntegersAsTheyAreStored) {
  EXPECT_EQ(of_all_bytes(Builtin_CAST, per_tensor(0.5F, 7), {},
                         {i32({8, 32}, std::vector<std::int32_t>(256))}),
            Tensor::of<std::int8_t>({256}, all_bytes()).to_int64());
}

TEST(TfliteLoops, IntegersOf32BitsHaveTheScaleOfTheFile) {
  // Steps of 1/8 around 1000.
  const auto ours = of_all_bytes(
      Builtin_QUANTIZE, per_tensor(0.5F, 7), {},
      {i32({8, 32}, std::vector<std::int32_t>(256)), false, per_tensor(0.125F, 1000)});
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_EQ(ours[i], (static_cast<std::int64_t>(i) - 128 - 7) * 4 + 1000);
  }
  const RowOperand wide{i32({3}, {992, 1000, 1004}), false, per_tensor(0.125F, 1000)};
  EXPECT_EQ(result_of({Builtin_DEQUANTIZE, {wide}, {{f32({3}, {0, 0, 0})}}}).to_float(),
            (std::vector<float>{-1, 0, 0.5F}));
}

std::vector<float> counted(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i + 1);
  }
  return values;
}

TEST(TfliteLoops, PositionsOfBlocksBecomeImagesAndComeBack) {
  const Shape from{2, 5, 6, 3};  // padded to 6 rows and 8 columns
  const std::vector<float> x = counted(element_count(from));
  const RowOperand blocks = numbers({3, 2});
  const RowOperand around = constant(i32({2, 2}, {1, 0, 0, 2}));
  const Shape to{12, 2, 4, 3};
  const Tensor images = result_of({Builtin_SPACE_TO_BATCH_ND,
                                   {{f32(from, x)}, blocks, around},
                                   {{Tensor(DType::kFloat32, to)}}});
  const auto y = images.to_float();
  std::size_t at = 0;
  for (std::int64_t image = 0; image < 12; ++image) {
    for (std::int64_t row = 0; row < 2; ++row) {
      for (std::int64_t column = 0; column < 4; ++column) {
        for (std::int64_t c = 0; c < 3; ++c, ++at) {
          const std::int64_t in_block = image / 2;
          const std::int64_t r = row * 3 + in_block / 2 - 1;
          const std::int64_t k = column * 2 + in_block % 2;
          const bool inside = r >= 0 && r < 5 && k < 6;
          const std::int64_t source = ((image % 2 * 5 + r) * 6 + k) * 3 + c;
          EXPECT_EQ(y[at], inside ? x[static_cast<std::size_t>(source)] : 0) << at;
        }
      }
    }
  }
  EXPECT_EQ(result_of({Builtin_BATCH_TO_SPACE_ND,
                       {{images}, blocks, around},
                       {{Tensor(DType::kFloat32, from)}}})
                .to_float(),
            x);
}

TEST(TfliteLoops, TuplesLeadToSlices) {
  std::mt19937 random(5);
  const Shape from{3, 4, 5};
  const std::vector<float> x = counted(element_count(from));
  std::vector<std::int32_t> tuples;
  std::vector<float> wanted;
  for (int i = 0; i < 6; ++i) {
    const auto a = static_cast<std::int32_t>(random() % 3);
    const auto b = static_cast<std::int32_t>(random() % 4);
    tuples.insert(tuples.end(), {a, b});
    for (std::int32_t k = 0; k < 5; ++k) {
      wanted.push_back(x[static_cast<std::size_t>((a * 4 + b) * 5 + k)]);
    }
  }
  EXPECT_EQ(result_of({Builtin_GATHER_ND,
                       {{f32(from, x)}, {i32({2, 3, 2}, tuples)}},
                       {{Tensor(DType::kFloat32, {2, 3, 5})}}})
                .to_float(),
            wanted);
}

TEST(TfliteLoops, ChosenIntegersStayWhatTheyAre) {
  const FileQuantization steps = per_tensor(0.0731F, 11);
  const RowOperand a{Tensor::of<std::int8_t>({256}, all_bytes()), false, steps};
  std::vector<std::int8_t> backwards = all_bytes();
  std::reverse(backwards.begin(), backwards.end());
  const RowOperand b{Tensor::of<std::int8_t>({256}, backwards), false, steps};
  std::vector<int> condition(256);
  std::vector<std::int64_t> wanted(256);
  for (std::size_t i = 0; i < condition.size(); ++i) {
    condition[i] = i % 3 == 0 ? 1 : 0;
    wanted[i] = condition[i] != 0 ? all_bytes()[i] : backwards[i];
  }
  const RowOperand chooser{flags({256}, condition)};
  const tflite::ModelFile file(file_of({Builtin_SELECT_V2, {chooser, a, b}, {a}}));
  for (const Numerics numerics : {Numerics::kOnnx, Numerics::kTfliteRef}) {
    EXPECT_EQ(Executable(integer_graph(file, numerics))
                  .run(std::vector<Tensor>{chooser.values, a.values, b.values})
                  .at(0)
                  .to_int64(),
              wanted);
  }
}

}  // namespace
}  // namespace tare::test
