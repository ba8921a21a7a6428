#include "lower/forms/unfused_silus.h"

#include "lower/forms/add_operator.h"
#include "lower/forms/respell.h"

#include <algorithm>
#include <optional>

namespace tare {
namespace {

/// Which operand of x * Sigmoid(x) is the Sigmoid, which nothing else reads.
std::optional<std::size_t> sigmoid_of(const Graph& graph, const Node& product) {
  if (product.op != "Mul" || product.inputs.size() != 2) {
    return std::nullopt;
  }
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const Node* sigmoid = lone_producer(graph, product.inputs[i], "Sigmoid");
    if (sigmoid != nullptr && sigmoid->inputs[0] == product.inputs[1 - i]) {
      return i;
    }
  }
  return std::nullopt;
}

}  // namespace

Graph with_unfused_silus(Graph onnx) {
  for (const NodeId id : onnx.topological_order()) {
    const Node product = onnx.node(id);
    if (const auto operand = sigmoid_of(onnx, product)) {
      const ValueId sigmoid = product.inputs[*operand];
      onnx.set_input(id, *operand,
                     add_operator(onnx, "Sum", {sigmoid}, onnx.type(sigmoid),
                                  onnx.name(sigmoid) + "_unfused"));
    }
  }
  return onnx;
}

Graph read_unfused_silus(Graph graph) {
  for (const NodeId id : graph.topological_order()) {
    const Node product = graph.node(id);
    for (std::size_t i = 0; product.op == "Mul" && i < product.inputs.size(); ++i) {
      const Node* sum = lone_producer(graph, product.inputs[i], "Sum");
      if (sum != nullptr && sum->inputs.size() == 1 &&
          producer_op(graph, sum->inputs[0]) == "Sigmoid") {
        graph.set_input(id, i, sum->inputs[0]);
      }
    }
  }
  graph.erase_unused();
  return graph;
}

bool has_silus(const Graph& onnx) {
  const std::vector<NodeId> nodes = onnx.nodes();
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](NodeId id) { return sigmoid_of(onnx, onnx.node(id)).has_value(); });
}

}  // namespace tare
