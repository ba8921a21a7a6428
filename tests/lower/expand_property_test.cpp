// Random graphs of listed and unlisted operators with conversions anywhere between them.
#include "tare/execute.h"
#include "tare/lower.h"

#include "graph/affine_ops.h"
#include "lower/conversions.h"
#include "lower/fake_quantized.h"

#include <cmath>

#include <gtest/gtest.h>

namespace tare {
namespace {

using testing::params;
using Builder = testing::FakeQuantizedBuilder;

const Shape kShape{2, 4, 4, 4};

/// Powers of two and even zero points, so that rounding in another order gives the same.
QuantParams any_params(Builder& b) {
  return params(DType::kUint8, std::ldexp(1.0F, static_cast<int>(b.random.integer(-5, 0))),
                static_cast<std::int32_t>(2 * b.random.integer(0, 127)));
}

ValueId any_step(Builder& b, const std::vector<ValueId>& values) {
  const auto pick = [&] {
    return values[static_cast<std::size_t>(
        b.random.integer(0, static_cast<std::int64_t>(values.size()) - 1))];
  };
  const ValueId x = pick();
  const Attributes window{{"kernel_shape", std::vector<std::int64_t>{3, 3}},
                          {"pads", std::vector<std::int64_t>{1, 1, 1, 1}}};
  switch (b.random.integer(0, 9)) {
    case 0:
      return b.op("Relu", {x}, kShape);
    case 1:
      return b.op("Transpose", {x}, kShape, {{"perm", std::vector<std::int64_t>{0, 3, 1, 2}}});
    case 2:
      return b.op("MaxPool", {x}, kShape, window);
    case 3:
      return b.op("AveragePool", {x}, kShape, window);
    case 4:
      return b.op("Tanh", {x}, kShape);
    case 5:
      return b.op("Max", {x, pick()}, kShape);
    case 6:  // not listed
      return b.op("CumSum", {x, b.real(Tensor::of<std::int64_t>({}, {1}))}, kShape);
    case 7:
      return b.op(
          "Clip",
          {x, b.real(Tensor::of<float>({}, {-0.3F})), b.real(Tensor::of<float>({}, {2.7F}))},
          kShape);
    default:
      return b.quantized_and_back(x, any_params(b));
  }
}

bool is_quantized_by_all(const Graph& graph, ValueId value) {
  const auto& users = graph.users(value);
  std::optional<QuantParams> wanted;
  for (const NodeId user : users) {
    const auto& quant = graph.type(graph.node(user).outputs[0]).quant;
    if (graph.node(user).op != "Quantize" || (wanted && wanted != quant)) {
      return false;
    }
    wanted = quant;
  }
  return !users.empty() && !graph.is_output(value);
}

/// Listed operators that still compute on real values between storage values.
std::vector<std::string> left_behind(const Graph& graph) {
  std::vector<std::string> result;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const AffineOp* row = find_affine_op(graph, node);
    if (row == nullptr || !is_quantized_by_all(graph, node.outputs[0])) {
      continue;
    }
    const std::size_t data = row->all_operands ? node.inputs.size() : 1;
    bool stored = true;
    for (std::size_t i = 0; i < data; ++i) {
      stored = stored && is_op(graph, node.inputs[i], "Dequantize");
    }
    if (stored) {
      result.push_back(node.name);
    }
  }
  return result;
}

class AnyGraph : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(AnyGraph, KeepsItsResultsAndLeavesOnlyUnlistedOperatorsBetweenConversions) {
  Builder b(GetParam());
  std::vector<ValueId> values{b.input(kShape, any_params(b)), b.input(kShape, any_params(b))};
  for (int i = 0; i < 12; ++i) {
    values.push_back(any_step(b, values));
  }
  // The last one, and one on the way that others may read too.
  const ValueId between = values[static_cast<std::size_t>(b.random.integer(2, 12))];
  b.graph.set_outputs(between == values.back() ? std::vector{between}
                                               : std::vector{between, values.back()});
  const Graph before = b.graph;
  const Graph after = lower(before);
  EXPECT_EQ(left_behind(after), std::vector<std::string>{}) << print(after);
  EXPECT_EQ(Executable(after).run(b.samples), Executable(before).run(b.samples))
      << print(before) << print(after);
}

INSTANTIATE_TEST_SUITE_P(Random, AnyGraph, ::testing::Range(0U, 300U));

}  // namespace
}  // namespace tare
