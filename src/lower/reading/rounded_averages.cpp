// Files of other tools leave averages real that products read next, though both factors of the
// product are quantized. An average lies within the range of what it averages, so rounding it
// to the same parameters saturates nothing, and the product can run on integers.

#include "graph/ir/derived_names.h"
#include "graph/operators/product.h"
#include "lower/conversions.h"
#include "lower/lower.h"

#include <algorithm>

namespace tare {
namespace {

bool is_average(const Node& node) {
  return node.op == "AveragePool" || node.op == "GlobalAveragePool" || node.op == "ReduceMean";
}

/// Whether only products of two dequantized factors read the value.
bool is_factor(const Graph& graph, ValueId value) {
  const std::vector<NodeId>& users = graph.users(value);
  return !users.empty() && !graph.is_output(value) &&
         std::all_of(users.begin(), users.end(), [&](NodeId user) {
           const Node& node = graph.node(user);
           const auto is_dequantized = [&](ValueId factor) {
             return factor == value || is_op(graph, factor, "Dequantize");
           };
           return is_product(node) && is_dequantized(node.inputs[0]) &&
                  is_dequantized(node.inputs[1]);
         });
}

}  // namespace

Graph with_rounded_averages(Graph graph) {
  for (const NodeId id : graph.topological_order()) {
    const Node node = graph.node(id);
    if (!is_average(node) || !is_op(graph, node.inputs[0], "Dequantize") ||
        !is_factor(graph, node.outputs[0])) {
      continue;
    }
    const ValueId average = node.outputs[0];
    TensorType type = graph.type(operand_of(graph, node.inputs[0]));
    type.shape = graph.type(average).shape;
    if (type.quant->per_axis()) {
      continue;
    }
    const std::string name = graph.name(average);
    const ValueId storage = add_quantize(graph, average, type, quantized_name(name));
    const NodeId rounding = *graph.producer(storage);
    graph.replace_uses(average, add_dequantize(graph, storage, dequantized_name(name)));
    graph.set_input(rounding, 0, average);
  }
  return graph;
}

}  // namespace tare
