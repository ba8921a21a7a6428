// A Relu behind a sum cuts off what need not be told apart: where the sum is negative, only
// that it is negative counts. A range of one operand may therefore end far above the lowest
// values, as long as it reaches below the negated other operand wherever the sum is to be 0.
#include "graph/operators/rectified_sum.h"

#include <string>
#include <utility>
#include <vector>

namespace tare {
namespace {

bool is_conversion(const Node& node) {
  return node.op == "SimulatedQuantize" || node.op == "SimulatedDequantize";
}

/// What alone reads a value, and the form of it that it reads; null: there is no such.
struct OnlyReader {
  const Node* node = nullptr;
  ValueId operand;
};

OnlyReader only_reader(const Graph& graph, ValueId value) {
  while (graph.single_use(value)) {
    const Node& node = graph.node(graph.users(value)[0]);
    if (!is_conversion(node)) {
      return {&node, value};
    }
    value = node.outputs[0];
  }
  return {};
}

ValueId add(Graph& graph, const char* op, std::vector<ValueId> operands) {
  const TensorType type{.dtype = DType::kFloat32,
                        .shape = graph.type(operands[0]).shape,
                        .quant = {},
                        .point = {}};
  const std::string name = graph.unique_name(graph.name(operands[0]) + "_" + op);
  const NodeId id = graph.add_node("", op, std::move(operands), {{name, type}});
  return graph.node(id).outputs[0];
}

}  // namespace

std::optional<ValueId> rectified_with(const Graph& graph, ValueId value) {
  const OnlyReader sum = only_reader(graph, value);
  if (sum.node == nullptr || sum.node->op != "Add") {
    return std::nullopt;
  }
  const ValueId result = sum.node->outputs[0];
  const OnlyReader relu = only_reader(graph, result);
  const ValueId other = sum.node->inputs[sum.node->inputs[0] == sum.operand ? 1 : 0];
  const Shape& shape = graph.type(value).shape;
  if (relu.node == nullptr || relu.node->op != "Relu" || graph.type(other).shape != shape ||
      graph.type(result).dtype != DType::kFloat32 || graph.constant(other) != nullptr) {
    return std::nullopt;
  }
  return other;
}

ValueId add_hiding_bound(Graph& graph, ValueId other) {
  return add(graph, "Neg", {add(graph, "Relu", {other})});
}

ValueId add_visible_part(Graph& graph, ValueId value, ValueId bound) {
  return add(graph, "Max", {value, bound});
}

}  // namespace tare
