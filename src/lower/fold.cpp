#include "lower/affine_rewrites.h"
#include "lower/conversions.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tare {
namespace {

std::optional<ValueId> equal_conversion(const Graph& graph, const Node& node) {
  for (const NodeId other_id : graph.users(node.inputs[0])) {
    const Node& other = graph.node(other_id);
    if (other.outputs[0] < node.outputs[0] && other.op == node.op &&
        graph.type(other.outputs[0]).quant == graph.type(node.outputs[0]).quant) {
      return other.outputs[0];
    }
  }
  return std::nullopt;
}

/// The bounds that a Relu or Clip of expressed values sets; infinite where it sets none,
/// nothing when they are not constant numbers.
std::optional<Range> bounds_of(const Graph& graph, const Node& node) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (node.op == "Relu") {
    return Range{0, kInfinity};
  }
  Range bounds{-kInfinity, kInfinity};
  for (const std::size_t i : {1U, 2U}) {
    if (i < node.inputs.size() && node.inputs[i]) {
      const Tensor* bound = graph.constant(node.inputs[i]);
      if (bound == nullptr || bound->size() != 1) {
        return std::nullopt;
      }
      (i == 1 ? bounds.low : bounds.high) = bound->to_double().at(0);
    }
  }
  return bounds;
}

/// True when no storage value lies beyond the bounds: saturation has done their work already.
bool is_redundant(const Graph& graph, const Node& node) {
  const auto& params = graph.type(node.outputs[0]).quant;
  if (!params || params->per_axis() || (node.op != "Relu" && node.op != "Clip")) {
    return false;
  }
  const auto bounds = bounds_of(graph, node);
  if (!bounds) {
    return false;
  }
  const StorageRange range = params->range();
  const auto storage = [&](double bound) {
    return std::nearbyint(bound / static_cast<double>(params->scale[0])) +
           params->zero_point[0];
  };
  return storage(bounds->low) <= static_cast<double>(range.low) &&
         storage(bounds->high) >= static_cast<double>(range.high);
}

/// What the readers of the node's result may read instead.
std::optional<ValueId> replacement(Graph& graph, const Node& node, const RequantizeMode& mode) {
  if (is_redundant(graph, node)) {
    return node.inputs[0];
  }
  if (node.op != "Quantize" && node.op != "Dequantize" && node.op != "Requantize") {
    return std::nullopt;
  }
  if (const auto same = equal_conversion(graph, node)) {
    return same;
  }
  if (node.op != "Quantize" || !is_op(graph, node.inputs[0], "Dequantize")) {
    return std::nullopt;
  }
  const ValueId storage = operand_of(graph, node.inputs[0]);
  const TensorType& type = graph.type(node.outputs[0]);
  if (graph.type(storage).quant == type.quant) {
    return storage;
  }
  if (type.quant->per_axis()) {
    return std::nullopt;
  }
  const NodeId id =
      graph.add_node("", "Requantize", {storage},
                     {{graph.unique_name(graph.name(node.outputs[0]) + "_requantized"), type}},
                     to_attributes(mode));
  return graph.node(id).outputs[0];
}

}  // namespace

void fold_conversions(Graph& graph, const RequantizeMode& mode) {
  for (bool changed = true; changed;) {
    changed = false;
    graph.erase_unused();
    for (const NodeId id : graph.topological_order()) {
      const Node node = graph.node(id);
      if (const auto instead = replacement(graph, node, mode)) {
        graph.replace_uses(node.outputs[0], *instead);
        changed = true;
      }
    }
  }
}

}  // namespace tare
