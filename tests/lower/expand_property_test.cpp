#include "tare/execute.h"

#include "graph/operators/affine_ops.h"
#include "lower/conversions.h"
#include "lower/lower.h"
#include "support/random/any_graph.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using Builder = FakeQuantizedBuilder;

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
  const Graph before = any_graph(b);
  const Graph after = lower(before);
  EXPECT_EQ(left_behind(after), std::vector<std::string>{}) << print(after);
  EXPECT_EQ(Executable(after).run(b.samples), Executable(before).run(b.samples))
      << print(before) << print(after);
}

INSTANTIATE_TEST_SUITE_P(Random, AnyGraph, ::testing::Range(0U, 300U));

}  // namespace
}  // namespace tare::test
