// SVDF of integers against the arithmetic of the reference kernels, and against what they made
// of a stored network. There all activations saturate, so it says little of the last bit.
#include "tare/error.h"
#include "tare/execute.h"

#include "tflite/fixed_point.h"
#include "tflite/golden.h"
#include "tflite/row_values.h"

#include <algorithm>
#include <limits>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

TEST(TfliteSvdf, OfIntegersEqualsTheReferenceKernelsInEveryLayer) {
  int layers = 0;
  for (const Golden& golden : golden_networks()) {
    const tflite::ModelFile whole(golden.model);
    const auto runs = golden_runs(golden, whole, "tflm");
    if (runs.empty()) {
      continue;
    }
    // On operands that the kernels computed.
    std::map<int, Tensor> activations = golden_layers(golden, "tflm");
    activations.insert(runs[0].inputs.begin(), runs[0].inputs.end());
    for (std::size_t i = 0; i < whole.operators.size(); ++i) {
      if (whole.operators[i].name != "SVDF") {
        continue;
      }
      tflite::ModelFile file(golden.model);
      keep_operator(file, i);
      const int output = file.outputs[0];
      const auto ours =
          tensors_of(integer_graph(file, Numerics::kTfliteRef), file, activations);
      EXPECT_EQ(apart(ours.at(output), activations.at(output)).different, 0U)
          << golden.name << ", tensor " << output;
      ++layers;
    }
  }
  if (layers == 0) {
    GTEST_SKIP() << "no stored results";
  }
}

constexpr std::size_t kSvdfBatch = 8;
constexpr std::size_t kSvdfInputs = 20;
constexpr std::size_t kRank = 2;
constexpr std::size_t kFilters = 32;
constexpr std::size_t kMemory = 3;
constexpr std::size_t kUnits = kFilters / kRank;

template <class T>
std::vector<T> random_integers(std::size_t count, int bound, std::mt19937& random) {
  std::vector<T> values(count);
  std::uniform_int_distribution<int> any(-bound, bound);
  std::generate(values.begin(), values.end(), [&] { return static_cast<T>(any(random)); });
  return values;
}

/// Of a state and weights in time of that type.
template <class T>
void expect_reference_arithmetic(const FileQuantization& state_steps,
                                 const FileQuantization& time_steps, int time_bound,
                                 Numerics numerics, std::int64_t most_apart) {
  using namespace tflite::schema;
  const FileQuantization x_steps = per_tensor(0.0213F, -5);
  const FileQuantization feature_steps = per_tensor(0.0117F, 0);
  const FileQuantization y_steps = per_tensor(0.0371F, 9);
  std::mt19937 random(13);
  const auto x = random_integers<std::int8_t>(kSvdfBatch * kSvdfInputs, 127, random);
  const auto feature = random_integers<std::int8_t>(kFilters * kSvdfInputs, 127, random);
  const auto time = random_integers<T>(kFilters * kMemory, time_bound, random);
  const auto bias = random_integers<std::int32_t>(kUnits, 1000, random);
  RowOperand memory{Tensor(DTypeOf<T>::kValue, {kSvdfBatch, kFilters * kMemory}), false,
                    state_steps};
  memory.variable = true;
  const RowOperand operand{Tensor::of<std::int8_t>({kSvdfBatch, kSvdfInputs}, x), false,
                           x_steps};
  const RowCase one{
      Builtin_SVDF,
      {operand,
       {Tensor::of<std::int8_t>({kFilters, kSvdfInputs}, feature), true, feature_steps},
       {Tensor::of<T>({kFilters, kMemory}, time), true, time_steps},
       constant(i32({kUnits}, bias)),
       memory},
      {{Tensor(DType::kInt8, {kSvdfBatch, kUnits}), false, y_steps}},
      BuiltinOptions_SVDFOptions,
      [](auto& to) { return CreateSVDFOptions(to, kRank).Union(); }};
  const tflite::ModelFile file(file_of(one));
  const auto ours = Executable(integer_graph(file, numerics))
                        .run(std::vector<tare::Tensor>{operand.values})
                        .at(0)
                        .to_int64();

  const auto scale = [](const FileQuantization& of) { return of.scale[0]; };
  const float to_state = scale(x_steps) * scale(feature_steps) / scale(state_steps);
  const float to_y = scale(state_steps) * scale(time_steps) / scale(y_steps);
  const std::set<std::int64_t> distinct(ours.begin(), ours.end());
  EXPECT_GT(distinct.size(), 60U);  // it does not saturate
  std::size_t different = 0;
  for (std::size_t b = 0; b < kSvdfBatch; ++b) {
    for (std::size_t u = 0; u < kUnits; ++u) {
      std::int64_t sum = bias[u];
      for (std::size_t f = u * kRank; f < (u + 1) * kRank; ++f) {
        std::int64_t product = 0;
        for (std::size_t i = 0; i < kSvdfInputs; ++i) {
          product +=
              (x[b * kSvdfInputs + i] - x_steps.zero_point[0]) * feature[f * kSvdfInputs + i];
        }
        const std::int64_t zero = state_steps.zero_point[0];
        const std::int64_t newest = std::clamp<std::int64_t>(
            fixed_point(product, static_cast<double>(to_state)) + zero,
            std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
        sum += (newest - zero) * time[(f + 1) * kMemory - 1];
      }
      const std::int64_t wanted = std::clamp<std::int64_t>(
          fixed_point(sum, static_cast<double>(to_y)) + y_steps.zero_point[0], -128, 127);
      different += std::abs(ours[b * kUnits + u] - wanted) > most_apart ? 1 : 0;
    }
  }
  EXPECT_EQ(different, 0U);
}

TEST(TfliteSvdf, WithAStateOf8BitsHasTheArithmeticOfTheReferenceKernel) {
  expect_reference_arithmetic<std::int8_t>(per_tensor(0.0803F, 4), per_tensor(0.0059F, 0), 127,
                                           Numerics::kTfliteRef, 0);
}

/// Which rounds twice where ONNX rounds once.
TEST(TfliteSvdf, WithAStateOf16BitsIsWithinAStepOfTheReferenceKernel) {
  expect_reference_arithmetic<std::int16_t>(per_tensor(0.00031F, 0), per_tensor(0.000023F, 0),
                                            30000, Numerics::kOnnx, 1);
}

TEST(TfliteSvdf, WithAStateOf16BitsHasTheArithmeticOfTheReferenceKernel) {
  expect_reference_arithmetic<std::int16_t>(per_tensor(0.00031F, 0), per_tensor(0.000023F, 0),
                                            30000, Numerics::kTfliteRef, 0);
}

}  // namespace
}  // namespace tare::test
