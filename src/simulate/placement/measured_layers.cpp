#include "simulate/placement/measured_layers.h"

#include <algorithm>
#include <set>

namespace tare {
namespace {

std::string list_text(std::span<const std::int64_t> values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += i == 0 ? "" : ",";
    text += std::to_string(values[i]);
  }
  text += "]";
  return text;
}

/// An attribute of a convolution that changes its time, where it is not what it usually is.
std::string attribute_text(const Node& node, const char* name) {
  const std::vector<std::int64_t> values =
      node.attributes.integers(name, std::vector<std::int64_t>());
  const bool is_usual =
      std::all_of(values.begin(), values.end(), [](std::int64_t value) { return value == 1; });
  return is_usual ? "" : std::string(" ") + name + " " + list_text(values);
}

}  // namespace

std::string layer_shape(const Graph& graph, std::span<const NodeId> nodes) {
  std::string ops;
  std::string operands;
  std::string attributes;
  std::string result;
  std::set<ValueId> inside;
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    ops += ops.empty() ? "" : "+";
    ops += node.op;
    for (const ValueId input : node.inputs) {
      // Biases and other single rows follow from the rest.
      if (input && !inside.contains(input) &&
          (graph.constant(input) == nullptr || graph.type(input).shape.size() > 1)) {
        operands += operands.empty() ? " " : "*";
        operands += list_text(graph.type(input).shape);
      }
    }
    for (const ValueId output : node.outputs) {
      inside.insert(output);
    }
    if (node.op == "Conv" || node.op == "ConvTranspose" || node.op == "MaxPool") {
      attributes += attribute_text(node, "strides") + attribute_text(node, "dilations");
      const std::int64_t groups = node.attributes.integer("group", 1);
      attributes += groups == 1 ? "" : " group " + std::to_string(groups);
    }
    result = list_text(graph.type(node.outputs[0]).shape);
  }
  return ops + operands + " -> " + result + attributes;
}

MeasuredLayers::MeasuredLayers(const Target& target) {
  for (const TargetOperator& row : target.costs) {
    if (row.op.find("->") != std::string::npos) {
      layers_.emplace(row.op, &row);
    }
  }
}

const TargetOperator* MeasuredLayers::find(const Graph& graph,
                                           std::span<const NodeId> nodes) const {
  if (layers_.empty()) {
    return nullptr;
  }
  const auto found = layers_.find(layer_shape(graph, nodes));
  return found == layers_.end() ? nullptr : found->second;
}

}  // namespace tare
