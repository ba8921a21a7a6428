// Some devices rescale a sum of products first and add the bias to the result, in its storage
// type. Then the sum without its bias is a value with a range of its own, so the graph gets
// such a value, and calibrating, lowering and exporting need not know of it. Linear in the
// graph.
#include "simulate/separate_biases.h"

#include "tare/graph.h"
#include "tare/simulate.h"

#include "graph/operators/product.h"

#include <algorithm>

namespace tare {
namespace {

constexpr std::size_t kBias = 2;

bool is_said_anywhere(const Config& config, const Target& target) {
  return target.requantize.bias_after || config.requantize.bias_after ||
         std::any_of(config.layers.begin(), config.layers.end(),
                     [](const LayerRule& rule) { return rule.requantize.bias_after; });
}

/// One element per channel, of the rank of the result or less.
Tensor spread(const Tensor& bias, const Node& product, const Shape& result) {
  const auto axis = static_cast<std::size_t>(channel_axis(product, result));
  Shape shape(result.size() - axis, 1);
  shape[0] = bias.size();
  return bias.reshaped(shape);
}

void separate(Graph& graph, NodeId id) {
  const Node product = graph.node(id);
  const ValueId result = product.outputs[0];
  const std::string name = graph.name(result);
  const TensorType type = graph.type(result);
  const Tensor bias = spread(*graph.constant(product.inputs[kBias]), product, type.shape);
  const NodeId sum = graph.add_node(
      graph.unique_name(product.name), product.op, {product.inputs[0], product.inputs[1]},
      {{graph.unique_name(name + "_unbiased"), type}}, product.attributes);
  const ValueId row =
      graph.add_constant(graph.unique_name(graph.name(product.inputs[kBias])), bias);
  const NodeId add =
      graph.add_node(graph.unique_name(product.name + "_bias"), "Add",
                     {graph.node(sum).outputs[0], row}, {{graph.unique_name(name), type}});
  std::vector<Origin> origins = product.origins;
  graph.set_origins(sum, origins);
  origins.push_back({product.name, product.op});
  graph.set_origins(add, std::move(origins));
  graph.replace_uses(result, graph.node(add).outputs[0]);
  graph.erase(id);
  graph.rename(sum, product.name);
  if (graph.name(graph.node(add).outputs[0]) != name) {
    graph.rename(graph.node(add).outputs[0], name);
  }
}

}  // namespace

bool adds_bias_after(const LayerRule& of_product, const Config& config, const Target& target) {
  for (const RequantizeConfig* one :
       {&of_product.requantize, &config.requantize, &target.requantize}) {
    if (one->bias_after) {
      return *one->bias_after;
    }
  }
  return false;
}

Graph with_separate_biases(Graph graph, const Config& config, const Target& target) {
  if (!is_said_anywhere(config, target)) {
    return graph;
  }
  const LayerRules rules(graph, config.layers);
  std::vector<NodeId> products;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (is_product(node) && node.inputs.size() > kBias &&
        graph.constant(node.inputs[kBias]) != nullptr &&
        graph.constant(node.inputs[1]) != nullptr &&
        adds_bias_after(rules.of(id), config, target)) {
      products.push_back(id);
    }
  }
  for (const NodeId id : products) {
    separate(graph, id);
  }
  graph.erase_unused_constants();
  return graph;
}

}  // namespace tare
