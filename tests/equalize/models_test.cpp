#include "support/files/models.h"

#include "tare/dataset.h"
#include "tare/error.h"
#include "tare/execute.h"
#include "tare/pattern.h"
#include "tare/quantize.h"

#include "equalize/equalize.h"
#include "equalize/random_factors.h"
#include "support/difference.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr std::size_t kRuns = 2;

class EqualizedModel : public ::testing::TestWithParam<TestModel> {};

// Factors are powers of two.
TEST_P(EqualizedModel, ComputesTheSameBitForBit) {
  const auto data = open_dataset(GetParam().calibration);
  const Graph graph = prepare(load_model(GetParam().model, {}, data.get()), Toolkit::builtin());
  Random random(1);
  const Graph equal = equalize(graph, random_factors(graph, random));
  const auto results = [&](const Graph& of) {
    Results all;
    run_dataset(of, *data, 0, kRuns,
                [&](std::size_t, std::vector<Tensor> outputs) { all.push_back(outputs); });
    return all;
  };
  EXPECT_EQ(results(equal), results(graph));
}

INSTANTIATE_TEST_SUITE_P(Models, EqualizedModel, ::testing::ValuesIn(test_models()),
                         [](const auto& model) { return model.param.name; });

/// The samples of a model, or random ones where it comes without any.
std::vector<std::vector<Tensor>> inputs_of(const TestModel& model, const Graph& graph) {
  std::vector<std::vector<Tensor>> result(kRuns);
  Random random(1);
  const auto data = model.calibration.empty() ? nullptr : open_dataset(model.calibration);
  const bool is_whole = data != nullptr && are_whole_inputs(graph, *data);
  for (std::size_t run = 0; run < kRuns; ++run) {
    for (const ValueId input : graph.inputs()) {
      const TensorType& type = graph.type(input);
      const auto batch =
          static_cast<std::size_t>(is_whole || type.shape.empty() ? 1 : type.shape[0]);
      const std::size_t runs = data == nullptr ? 0 : data->size() / batch;
      if (runs == 0) {
        result[run].push_back(random.tensor(type.shape));
        continue;
      }
      const Tensor read = data->read(graph.name(input), run % runs * batch, batch);
      result[run].push_back(type.dtype == DType::kFloat32
                                ? Tensor::of<float>(type.shape, read.to_float())
                                : Tensor::of<std::int64_t>(type.shape, read.to_int64()));
    }
  }
  return result;
}

Results results_of(const Graph& graph, const std::vector<std::vector<Tensor>>& inputs) {
  Results results;
  const Executable executable(graph);
  for (const std::vector<Tensor>& run : inputs) {
    results.push_back(executable.run(run));
  }
  return results;
}

/// Indices have no roundings.
bool is_made_integer(const Graph& graph, ValueId input) {
  const auto& users = graph.users(input);
  return std::any_of(users.begin(), users.end(), [&](NodeId user) {
    return graph.node(user).op == "Cast" &&
           !is_float(graph.type(graph.node(user).outputs[0]).dtype);
  });
}

/// How far results move when every input moves by one rounding: what a layer that rounds
/// otherwise does to those behind it. Some heads magnify it, such as the sigmoid of 50 x of
/// differentiable binarization.
double moved_by_rounding(const Graph& graph, std::vector<std::vector<Tensor>> inputs,
                         const Results& wanted) {
  Random random(2);
  for (std::vector<Tensor>& run : inputs) {
    for (std::size_t i = 0; i < run.size(); ++i) {
      Tensor& input = run[i];
      if (input.dtype() != DType::kFloat32 || is_made_integer(graph, graph.inputs()[i])) {
        continue;
      }
      std::vector<float> values = input.to_float();
      for (float& value : values) {
        value = std::nextafter(value, random.integer(0, 1) == 0 ? -INFINITY : INFINITY);
      }
      input = Tensor::of<float>(input.shape(), values);
    }
  }
  return distance(results_of(graph, inputs), wanted);
}

/// Shapes that the graph computes are constants to the executor.
Graph with_folded_constants(Graph graph) {
  std::vector<RewriteRule> rules = Toolkit::builtin().rules;
  std::erase_if(rules, [](const RewriteRule& rule) {
    return rule.name != "fold_constants" && rule.name != "fold_shape";
  });
  return rewrite(std::move(graph), rules);
}

/// Powers of two for all that may have factors, so that there is nothing to round.
ChannelFactors any_factors(const Graph& graph) {
  Random random(1);
  ChannelFactors result;
  for (const ValueId value : graph.values()) {
    std::vector<float> factors(factor_count(graph, value));
    std::generate(factors.begin(), factors.end(),
                  [&] { return std::ldexp(1.0F, static_cast<int>(random.integer(-5, 0))); });
    result.emplace(graph.name(value), std::move(factors));
  }
  return result;
}

class ModelAsItWasRead : public ::testing::TestWithParam<TestModel> {};

// What all figures are held against, and what is quantized.
TEST_P(ModelAsItWasRead, IsWhatThePreparedAndTheEqualizedGraphCompute) {
  const TestModel& files = GetParam();
  const auto data = files.calibration.empty() ? nullptr : open_dataset(files.calibration);
  Graph read;
  try {
    read = with_folded_constants(load_model(files.model, {}, data.get()));
  } catch (const Error& error) {
    GTEST_SKIP() << "cannot be loaded: " << error.what();
  }
  if (is_quantized(read)) {
    GTEST_SKIP() << "is quantized";
  }
  const auto inputs = inputs_of(files, read);
  const Results wanted = results_of(read, inputs);
  const Graph prepared = prepare(read, Toolkit::builtin());
  // Where one rounding of the inputs moves results by more, a few inside may, too.
  const double bound = std::max(1e-5, 4 * moved_by_rounding(read, inputs, wanted));
  EXPECT_LT(distance(results_of(prepared, inputs), wanted), bound);
  const Graph equal = equalize(prepared, any_factors(prepared));
  EXPECT_LT(distance(results_of(equal, inputs), wanted), bound);
}

INSTANTIATE_TEST_SUITE_P(Models, ModelAsItWasRead, ::testing::ValuesIn(test_models()),
                         [](const auto& model) { return model.param.name; });
INSTANTIATE_TEST_SUITE_P(Field, ModelAsItWasRead, ::testing::ValuesIn(field_models()),
                         [](const auto& model) { return model.param.name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ModelAsItWasRead);

}  // namespace
}  // namespace tare::test
