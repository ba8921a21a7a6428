#include "lower/forms/quick_activations.h"

#include "lower/forms/add_operator.h"
#include "lower/forms/quick_exponentials.h"
#include "lower/forms/respell.h"

#include <algorithm>
#include <optional>

namespace tare {
namespace {

/// Between these the engine looks the results of some operators up.
bool is_between_conversions(const Graph& graph, const Node& node) {
  const auto& users = graph.users(node.outputs[0]);
  return producer_op(graph, node.inputs[0]) == "DequantizeLinear" && !users.empty() &&
         std::all_of(users.begin(), users.end(),
                     [&](NodeId user) { return graph.node(user).op == "QuantizeLinear"; });
}

bool is_merged_with_product(const Graph& graph, const Node& node) {
  const std::string product = producer_op(graph, node.inputs[0]);
  return node.op == "LeakyRelu" && (product == "Conv" || product == "Gemm") &&
         graph.single_use(node.inputs[0]);
}

/// Whether x and its multiple have the order that a slope wants: none is above 1, where the
/// smaller one would count, and none is 0, whose product with an infinity is no number.
bool are_slopes(const Tensor& factors) {
  const auto values = factors.view<float>();
  return std::all_of(values.begin(), values.end(),
                     [](float slope) { return slope <= 1 && slope != 0; });
}

/// What values below 0 are multiplied by, where are_slopes().
std::optional<Tensor> slopes(const Graph& graph, const Node& node) {
  Tensor result;
  if (node.op == "LeakyRelu") {
    constexpr float kUsual = 0.01F;
    result = Tensor::of<float>({}, {node.attributes.real("alpha", kUsual)});
  } else if (const Tensor* constant = graph.constant(node.inputs[1])) {
    result = *constant;
  }
  if (result.dtype() != DType::kFloat32 || result.size() == 0) {
    return std::nullopt;
  }
  return are_slopes(result) ? std::optional(std::move(result)) : std::nullopt;
}

void spell_as_maximum(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  const auto slope = slopes(graph, node);
  const bool is_looked_up = node.op == "LeakyRelu" && is_between_conversions(graph, node);
  if (!slope || is_looked_up || is_merged_with_product(graph, node)) {
    return;
  }
  const ValueId x = node.inputs[0];
  const std::string name = graph.name(node.outputs[0]);
  const TensorType type = graph.type(node.outputs[0]);
  const ValueId factor = node.op == "PRelu"
                             ? node.inputs[1]
                             : graph.add_constant(graph.unique_name(name + "_slope"), *slope);
  const ValueId sloped = add_operator(graph, "Mul", {x, factor}, type, name + "_sloped");
  replace(graph, id, add_operator(graph, "Max", {x, sloped}, type, name + "_maximum"));
}

/// Max(x, Mul(x, slope)).
void read_maximum(Graph& graph, NodeId id) {
  const Node maximum = graph.node(id);
  const Node* product =
      maximum.inputs.size() == 2 ? lone_producer(graph, maximum.inputs[1], "Mul") : nullptr;
  if (product == nullptr || product->inputs[0] != maximum.inputs[0]) {
    return;
  }
  const Tensor* slope = graph.constant(product->inputs[1]);
  if (slope == nullptr || slope->dtype() != DType::kFloat32 || !are_slopes(*slope)) {
    return;
  }
  const TensorType type = graph.type(maximum.outputs[0]);
  const std::string name = graph.name(maximum.outputs[0]);
  const bool is_leaky = slope->shape().empty();
  replace(graph, id,
          is_leaky ? add_operator(graph, "LeakyRelu", {maximum.inputs[0]}, type, name,
                                  {{"alpha", slope->view<float>()[0]}})
                   : add_operator(graph, "PRelu", {maximum.inputs[0], product->inputs[1]}, type,
                                  name));
}

}  // namespace

Graph with_quick_activations(Graph onnx) {
  for (const NodeId id : onnx.topological_order()) {
    const std::string op = onnx.node(id).op;
    if (!spell_exponential(onnx, id) && (op == "PRelu" || op == "LeakyRelu")) {
      spell_as_maximum(onnx, id);
    }
  }
  onnx.erase_unused();
  return onnx;
}

Graph read_quick_activations(Graph graph) {
  for (const NodeId id : graph.topological_order()) {
    if (!read_exponential(graph, id) && graph.node(id).op == "Max") {
      read_maximum(graph, id);
    }
  }
  graph.erase_unused();
  return graph;
}

}  // namespace tare
