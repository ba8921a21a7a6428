// SVDF and LSTM on integers, against what kernels of TensorFlow Lite (of 2023, in its build for
// the web) computed of the same files.
#include "tare/error.h"
#include "tare/execute.h"

#include "support/files/damaged.h"
#include "support/message.h"
#include "tflite/gate_functions.h"
#include "tflite/golden.h"
#include "tflite/row_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using namespace tflite::schema;
using tare::Tensor;  // and not that of files

using Results = std::vector<std::int64_t>;

constexpr std::array kKernels{Numerics::kTfliteRef, Numerics::kTfliteBuiltin,
                              Numerics::kTfliteXnn};

/// Integers that the files were made of.
class Sequence {
 public:
  explicit Sequence(int seed) : state_(seed) {}

  /// Within [-127, 127], times a factor.
  template <class T>
  Tensor next(const Shape& shape, int factor = 1) {
    std::vector<T> values(static_cast<std::size_t>(element_count(shape)));
    for (T& value : values) {
      state_ = (state_ * 109 + 89) % 2039;
      value = static_cast<T>((state_ % 255 - 127) * factor);
    }
    return Tensor::of<T>(shape, values);
  }

 private:
  int state_;
};

RowOperand stored(Tensor values, float scale, std::int64_t zero_point) {
  return {std::move(values), false, per_tensor(scale, zero_point)};
}

RowOperand weights(Tensor values, float scale) {
  return {std::move(values), true, per_tensor(scale, 0)};
}

RowOperand stored_state(DType dtype, const Shape& shape, float scale, std::int64_t zero_point) {
  RowOperand result = stored(Tensor(dtype, shape), scale, zero_point);
  result.variable = true;
  return result;
}

Results computed(const RowCase& one, Numerics numerics) {
  const Graph integer = integer_graph(tflite::ModelFile(file_of(one)), numerics);
  const Tensor& x = one.operands[0].values;
  return Executable(integer).run(std::span(&x, 1)).at(0).to_int64();
}

/// x at its zero point, so that the result is the bias, rescaled.
RowCase svdf_of_bias(float state_scale, float time_scale, float scale, std::int64_t zero_point,
                     const std::vector<std::int32_t>& bias) {
  const auto units = static_cast<std::int64_t>(bias.size());
  Tensor x(DType::kInt8, {1, 3});
  std::fill_n(x.mutable_view<std::int8_t>().begin(), 3, std::int8_t{11});
  return {Builtin_SVDF,
          {stored(x, 0.04F, 11), weights(Sequence(1).next<std::int8_t>({units, 3}), 0.01F),
           weights(Sequence(2).next<std::int16_t>({units, 2}), time_scale),
           constant(i32({units}, bias)),
           stored_state(DType::kInt16, {1, 2 * units}, state_scale, 0)},
          {stored(Tensor(DType::kInt8, {1, units}), scale, zero_point)},
          BuiltinOptions_SVDFOptions,
          [](auto& to) { return CreateSVDFOptions(to, 1, Activation_RELU).Union(); }};
}

TEST(TfliteIntegerSvdf, IsRescaledByQuotientsInFloat32) {
  // A product in float32 over a scale in double would make one more or less of each.
  const RowCase one = svdf_of_bias(0x1.6a807ap-10F, 0x1.7b7348p-13F, 0x1.50630ap-5F, -128,
                                   {7959677, 10421433, 13047306, 15509062, 17970818, 18134935});
  const RowCase other =
      svdf_of_bias(0x1.5808dcp-12F, 0x1.68b0b8p-12F, 0x1.1b1424p-2F, -128,
                   {3674190, 15921492, 20820413, 23269873, 25719334, 28168794});
  for (const Numerics numerics : kKernels) {
    EXPECT_EQ(computed(one, numerics), (Results{-79, -64, -48, -33, -18, -17}));
    EXPECT_EQ(computed(other, numerics), (Results{-126, -121, -119, -118, -117, -116}));
  }
}

TEST(TfliteIntegerSvdf, LeavesReluToTheRangeOfTheResult) {
  // One of the result is 1000 of the bias.
  const RowCase one = svdf_of_bias(0.001F, 0.001F, 0.001F, -20, {-30000, 0, 30000, -200000});
  for (const Numerics numerics : kKernels) {
    EXPECT_EQ(computed(one, numerics), (Results{-50, -20, 10, -128}));
  }
  EXPECT_EQ(computed(one, Numerics::kOnnx), (Results{-50, -20, 10, -128}));
}

struct IntegerLstmCase {
  const char* name;
  int seed = 0;
  std::int64_t zero_point = 0;         ///< of the result and of the hidden state
  std::int64_t hidden_zero_point = 0;  ///< of the intermediate tensor
  float clip = 0;
  bool peeps = false;
  bool couples = false;
  bool time_major = true;
  int cell_exponent = -11;
  Results wanted{};

  friend void PrintTo(const IntegerLstmCase& one, std::ostream* out) { *out << one.name; }
};

constexpr std::int64_t kSteps = 5;
constexpr std::int64_t kSequences = 2;
constexpr std::int64_t kFeatures = 3;
constexpr std::int64_t kCells = 4;
constexpr float kHiddenScale = 1.0F / 128;

RowCase lstm_case(const IntegerLstmCase& of) {
  Sequence sequence(of.seed);
  constexpr std::array from_input{0.004F, 0.005F, 0.003F, 0.006F};
  constexpr std::array from_state{0.006F, 0.007F, 0.008F, 0.009F};
  RowCase one{Builtin_UNIDIRECTIONAL_SEQUENCE_LSTM,
              {{}},
              {},
              BuiltinOptions_UnidirectionalSequenceLSTMOptions,
              [of](auto& to) {
                return CreateUnidirectionalSequenceLSTMOptions(to, Activation_TANH, of.clip, 0,
                                                               of.time_major)
                    .Union();
              }};
  const auto add = [&](bool is_there, const auto& make) {
    one.operands.push_back(is_there ? make() : absent());
  };
  for (std::size_t gate = 0; gate < 4; ++gate) {
    add(gate > 0 || !of.couples, [&] {
      return weights(sequence.next<std::int8_t>({kCells, kFeatures}), from_input[gate]);
    });
  }
  for (std::size_t gate = 0; gate < 4; ++gate) {
    add(gate > 0 || !of.couples, [&] {
      return weights(sequence.next<std::int8_t>({kCells, kCells}), from_state[gate]);
    });
  }
  for (std::size_t gate = 0; gate < 3; ++gate) {
    add(of.peeps && (gate > 0 || !of.couples),
        [&] { return weights(sequence.next<std::int16_t>({kCells}, 257), 3e-5F); });
  }
  for (std::size_t gate = 0; gate < 4; ++gate) {
    add(gate > 0 || !of.couples,
        [&] { return constant(sequence.next<std::int32_t>({kCells}, 60)); });
  }
  const Shape shape = of.time_major ? Shape{kSteps, kSequences, kFeatures}
                                    : Shape{kSequences, kSteps, kFeatures};
  one.operands[0] = stored(sequence.next<std::int8_t>(shape), 0.05F, -6);
  const Shape states{kSequences, kCells};
  one.operands.insert(
      one.operands.end(),
      {absent(), absent(), stored_state(DType::kInt8, states, kHiddenScale, of.zero_point),
       stored_state(DType::kInt16, states, std::ldexp(1.0F, of.cell_exponent), 0)});
  one.results.push_back(
      stored(Tensor(DType::kInt8, {shape[0], shape[1], kCells}), kHiddenScale, of.zero_point));
  one.intermediates.assign(4, stored(Tensor(DType::kInt16, {}), std::ldexp(1.0F, -12), 0));
  one.intermediates.push_back(
      stored(Tensor(DType::kInt8, {}), kHiddenScale, of.hidden_zero_point));
  return one;
}

class TfliteIntegerLstm : public ::testing::TestWithParam<IntegerLstmCase> {};

TEST_P(TfliteIntegerLstm, EqualsTheKernelsOfTensorFlowLite) {
  for (const Numerics numerics : kKernels) {
    EXPECT_EQ(computed(lstm_case(GetParam()), numerics), GetParam().wanted);
  }
}

std::vector<IntegerLstmCase> lstm_cases() {
  return {
      {.name = "Plain", .seed = 1, .wanted = {-12, 1,   -5, -22, 5,   1,   6,   -10, -7,  0,
                                              0,   -38, 1,  13,  -8,  2,   -65, -50, -22, 3,
                                              0,   0,   -8, -4,  0,   -10, -21, 0,   -5,  2,
                                              -13, -10, 30, 8,   -21, -1,  -1,  62,  -5,  -3}},
      {.name = "SequencesFirst",
       .seed = 2,
       .time_major = false,
       .wanted = {10, -9,  80, 49, 57, 5,   34, 10, 56, -6,  92, 50, 88, -1,
                  64, 68,  82, 5,  1,  2,   8,  2,  23, 7,   10, 0,  26, 15,
                  30, -12, 93, 79, 23, -51, 89, 23, 11, -52, 39, 15}},
      {.name = "ZeroPoints",
       .seed = 3,
       .zero_point = 9,
       .hidden_zero_point = -9,
       .wanted = {-13, 14,  -3,  -74, 9, 16, -74, 70, 2,   13,  -36, 38, 8,   30,
                  -71, 104, 5,   32,  7, 52, 5,   44, -43, 107, 9,   43, -70, 96,
                  9,   70,  -68, 109, 9, 85, -3,  68, -61, 23,  14,  -59}},
      {.name = "BoundedCell",
       .seed = 4,
       .clip = 0.75F,
       .wanted = {79, -2, 1,  -1, 8,  -2,  15, -6,  1,  -34, 36, -32, 30, -7,
                  21, -4, 7,  0,  51, 5,   2,  -81, 22, -22, 32, 0,   44, -2,
                  17, 0,  31, 4,  0,  -18, 81, -56, -1, -25, 35, 22}},
      {.name = "Peepholes",
       .seed = 5,
       .peeps = true,
       .cell_exponent = -13,
       .wanted = {26,  0, 29, 0,   53, 7,  -2, 30, 38, 2,   44, 0,  81, 61,
                  -23, 3, -5, -35, 0,  7,  76, 7,  12, 1,   0,  21, 2,  44,
                  74,  0, 0,  -4,  15, 17, 1,  18, 92, 110, 43, 2}},
      {.name = "CoupledGates",
       .seed = 6,
       .couples = true,
       .cell_exponent = -15,
       .wanted = {0,   -35, 24, 3,  -2,  -39, 17,  6,   -1,  -85, 3,  4,   -43, -14,
                  -3,  11,  35, -2, -18, 68,  -74, -44, -5,  -10, 15, -87, 6,   1,
                  -87, -37, -1, 5,  30,  -87, 2,   2,   -24, -85, 3,  12}},
      {.name = "AllOfThem",
       .seed = 7,
       .zero_point = -5,
       .hidden_zero_point = 12,
       .clip = 1.25F,
       .peeps = true,
       .couples = true,
       .time_major = false,
       .cell_exponent = -12,
       .wanted = {-59, -12, -12, -12, -56, -8,  13,  -11, -2,  -12, -15, -17, -6,  -50,
                  -32, -54, -5,  -36, 59,  -10, -12, 50,  -15, 42,  -16, 14,  -16, 5,
                  -11, -73, -36, 59,  -11, 22,  -22, 32,  -9,  38,  -12, 29}},
  };
}

INSTANTIATE_TEST_SUITE_P(Cases, TfliteIntegerLstm, ::testing::ValuesIn(lstm_cases()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(TfliteIntegerLstms, AreThoseOfRealNumbersUnderOtherNumerics) {
  for (const IntegerLstmCase& of : lstm_cases()) {
    if (of.zero_point != -of.hidden_zero_point) {
      continue;  // there the kernels' results have another zero point than the file says
    }
    const Results ours = computed(lstm_case(of), Numerics::kOnnx);
    ASSERT_EQ(ours.size(), of.wanted.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      // Of 256 steps; each of the five steps rounds its hidden state to one.
      EXPECT_NEAR(static_cast<double>(ours[i]), static_cast<double>(of.wanted[i]), 3)
          << of.name << " " << i;
    }
  }
}

std::string refusal(const RowCase& one) {
  return message_of([&] { return computed(one, Numerics::kTfliteRef); },
                    ErrorCode::kUnsupported);
}

TEST(TfliteIntegerLstms, SayWhatTheKernelsDoNotTake) {
  RowCase silent = lstm_case(lstm_cases()[0]);
  silent.intermediates.pop_back();
  EXPECT_NE(refusal(silent).find("does not say how its hidden state is stored"),
            std::string::npos);
  RowCase odd = lstm_case(lstm_cases()[0]);
  odd.operands[19].quantization = per_tensor(0.0007F, 0);
  EXPECT_NE(refusal(odd).find("its cell has scale 0.0007"), std::string::npos);
  RowCase projecting = lstm_case(lstm_cases()[0]);
  projecting.operands[16] = weights(Tensor(DType::kInt8, {kCells, kCells}), 1);
  EXPECT_NE(refusal(projecting).find("projects its hidden state"), std::string::npos);
}

/// Whether a graph for the numerics of the kernels came of it, which could be compiled.
bool is_imported_for_kernels(const std::vector<std::byte>& bytes) {
  return is_read([&] {
    const Graph integer = integer_graph(tflite::ModelFile(bytes), Numerics::kTfliteRef);
    std::int64_t elements = 0;
    for (const ValueId value : integer.values()) {
      elements += element_count(integer.type(value).shape);
    }
    if (elements < 1'000'000) {
      (void)Executable(integer);
    }
  });
}

TEST(DamagedTflite, OfIntegersWithAStateIsReadOrRefused) {
  constexpr int kFiles = 60;
  constexpr int kSmall = 16;  // offsets, extents and indices are
  std::mt19937 random(5);
  for (const RowCase& one :
       {lstm_case(lstm_cases()[0]), lstm_case(lstm_cases()[6]),
        svdf_of_bias(0.001F, 0.001F, 0.001F, -20, {-30000, 0, 30000, -200000})}) {
    const std::vector<std::byte> model = file_of(one);
    ASSERT_TRUE(is_imported_for_kernels(model));
    int refused = 0;
    for (int i = 0; i < kFiles; ++i) {
      std::vector<std::byte> bytes = model;
      for (std::size_t change = 0; change <= random() % 4; ++change) {
        const auto value = random() % (i % 2 == 0 ? kSmall : 256);
        bytes[random() % bytes.size()] = static_cast<std::byte>(value);
      }
      refused += is_imported_for_kernels(bytes) ? 0 : 1;
    }
    EXPECT_GT(refused, 0);
  }
}

/// How far a function of gates is from that of real numbers, at most, in 2^-15.
template <class Function, class Real>
double furthest(Function function, Real real, int fraction_bits) {
  double result = 0;
  for (int x = std::numeric_limits<std::int16_t>::min();
       x <= std::numeric_limits<std::int16_t>::max(); ++x) {
    const double wanted = real(std::ldexp(x, -fraction_bits)) * 32768;
    const double ours = function(static_cast<std::int16_t>(x));
    result = std::max(result, std::abs(ours - wanted));
  }
  return result;
}

TEST(GateFunctions, AreWithinAFewStepsOfThoseOfRealNumbers) {
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  // Three products and a quotient of 15 bits each round by up to some steps.
  EXPECT_LT(furthest(tflite::sigmoid_of_gate, sigmoid, 12), 20);
  for (int bits = 0; bits <= 6; ++bits) {
    const auto tanh = [&](std::int16_t x) { return tflite::tanh_of_gate(x, bits); };
    EXPECT_LT(furthest(
                  tanh, [](double x) { return std::tanh(x); }, 15 - bits),
              20)
        << bits;
  }
}

}  // namespace
}  // namespace tare::test
