// Reads groups, windows and channels off the weights of a layer. Linear in the graph, once.
#include "simulate/layer_shapes.h"

#include "tare/graph.h"

#include "graph/operators/product.h"

#include <algorithm>

namespace tare {
namespace {

constexpr std::size_t kMatrix = 2;

bool has_weights(const Graph& graph, const Node& node) {
  return is_product(node) && node.inputs.size() > 1 && node.inputs[1] &&
         graph.constant(node.inputs[1]) != nullptr &&
         graph.type(node.inputs[1]).shape.size() >= kMatrix;
}

bool is_convolution(const Node& node) {
  return node.op == "Conv" || node.op == "ConvTranspose";
}

}  // namespace

LayerShapes::LayerShapes(const Graph& graph) : graph_(graph) {
  for (const NodeId id : graph.topological_order()) {
    if (has_weights(graph, graph.node(id))) {
      depths_.emplace(id, static_cast<std::int64_t>(depths_.size()));
    }
  }
}

bool LayerShapes::match(const LayerShape& wanted, NodeId id) const {
  if (wanted == LayerShape{}) {
    return true;
  }
  const auto depth = depths_.find(id);
  if (depth == depths_.end()) {
    return false;
  }
  const Node& node = graph_.node(id);
  const Shape& weights = graph_.type(node.inputs[1]).shape;
  const WeightLayout layout = weight_layout(node, weights.size());
  const std::int64_t groups = is_convolution(node) ? node.attributes.integer("group", 1) : 1;
  const std::int64_t outputs =
      weights[layout.output] * (node.op == "ConvTranspose" ? groups : 1);
  const std::int64_t inputs =
      weights[layout.input] /
      (node.op == "ConvTranspose" ? std::max<std::int64_t>(groups, 1) : 1);
  const auto holds = [](const std::optional<IntegerRange>& range, std::int64_t value) {
    return !range || range->holds(value);
  };
  const bool window_fits =
      is_convolution(node)
          ? std::all_of(weights.begin() + kMatrix, weights.end(),
                        [&](std::int64_t extent) { return holds(wanted.kernel, extent); })
          : holds(wanted.kernel, 1);
  const std::int64_t from_end = depth->second - static_cast<std::int64_t>(depths_.size());
  return holds(wanted.groups, groups) && window_fits && holds(wanted.input_channels, inputs) &&
         holds(wanted.output_channels, outputs) &&
         (holds(wanted.depth, depth->second) || holds(wanted.depth, from_end));
}

}  // namespace tare
