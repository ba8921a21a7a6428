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

/// What values below 0 are multiplied by, where that is constant.
std::optional<Tensor> slopes(const Graph& graph, const Node& node) {
  Tensor result;
  if (node.op == "LeakyRelu") {
    constexpr float kUsual = 0.01F;
    result = Tensor::of<float>({}, {node.attributes.real("alpha", kUsual)});
  } else if (const Tensor* constant = graph.constant(node.inputs[1])) {
    result = *constant;
  }
  return result.dtype() == DType::kFloat32 && result.size() > 0
             ? std::optional(std::move(result))
             : std::nullopt;
}

/// The larger one of a value and its multiple, or the sum of its parts above and below 0.
void spell_rectifier(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  const auto slope = slopes(graph, node);
  const bool is_looked_up = node.op == "LeakyRelu" && is_between_conversions(graph, node);
  if (!slope || is_looked_up || is_merged_with_product(graph, node)) {
    return;
  }
  const ValueId x = node.inputs[0];
  const std::string name = graph.name(node.outputs[0]);
  const TensorType type = graph.type(node.outputs[0]);
  constexpr std::int64_t kWorthFourOperators = 1000;
  if (!are_slopes(*slope) && element_count(type.shape) < kWorthFourOperators) {
    return;
  }
  const ValueId factor = node.op == "PRelu"
                             ? node.inputs[1]
                             : graph.add_constant(graph.unique_name(name + "_slope"), *slope);
  if (are_slopes(*slope)) {
    const ValueId sloped = add_operator(graph, "Mul", {x, factor}, type, name + "_sloped");
    replace(graph, id, add_operator(graph, "Max", {x, sloped}, type, name + "_maximum"));
    return;
  }
  const ValueId zero =
      graph.add_constant(graph.unique_name(name + "_zero"), Tensor::scalar(0.0F));
  const ValueId above = add_operator(graph, "Relu", {x}, type, name + "_above");
  const ValueId below = add_operator(graph, "Min", {x, zero}, type, name + "_below");
  const ValueId sloped = add_operator(graph, "Mul", {below, factor}, type, name + "_sloped");
  replace(graph, id, add_operator(graph, "Add", {above, sloped}, type, name + "_sum"));
}

/// In the place of a node: what multiplies x by `slope` below 0.
void restore_rectifier(Graph& graph, NodeId id, ValueId x, ValueId slope) {
  const TensorType type = graph.type(graph.node(id).outputs[0]);
  const std::string name = graph.name(graph.node(id).outputs[0]);
  const Tensor& factors = *graph.constant(slope);
  replace(graph, id,
          factors.shape().empty() ? add_operator(graph, "LeakyRelu", {x}, type, name,
                                                 {{"alpha", factors.view<float>()[0]}})
                                  : add_operator(graph, "PRelu", {x, slope}, type, name));
}

bool is_float_constant(const Graph& graph, ValueId value) {
  const Tensor* constant = graph.constant(value);
  return constant != nullptr && constant->dtype() == DType::kFloat32;
}

/// Max(x, Mul(x, slope)).
void read_maximum(Graph& graph, NodeId id) {
  const Node maximum = graph.node(id);
  const Node* product =
      maximum.inputs.size() == 2 ? lone_producer(graph, maximum.inputs[1], "Mul") : nullptr;
  if (product == nullptr || product->inputs[0] != maximum.inputs[0]) {
    return;
  }
  if (is_float_constant(graph, product->inputs[1]) &&
      are_slopes(*graph.constant(product->inputs[1]))) {
    restore_rectifier(graph, id, maximum.inputs[0], product->inputs[1]);
  }
}

/// Add(Relu(x), Mul(Min(x, 0), slope)).
void read_sum_of_parts(Graph& graph, NodeId id) {
  const Node sum = graph.node(id);
  const Node* above = lone_producer(graph, sum.inputs[0], "Relu");
  const Node* product = lone_producer(graph, sum.inputs[1], "Mul");
  const Node* below =
      product == nullptr ? nullptr : lone_producer(graph, product->inputs[0], "Min");
  if (above == nullptr || below == nullptr || below->inputs.size() != 2 ||
      below->inputs[0] != above->inputs[0] || !is_float_constant(graph, below->inputs[1]) ||
      *graph.constant(below->inputs[1]) != Tensor::scalar(0.0F) ||
      !is_float_constant(graph, product->inputs[1])) {
    return;
  }
  restore_rectifier(graph, id, above->inputs[0], product->inputs[1]);
}

}  // namespace

Graph with_quick_activations(Graph onnx) {
  for (const NodeId id : onnx.topological_order()) {
    const std::string op = onnx.node(id).op;
    if (!spell_exponential(onnx, id) && (op == "PRelu" || op == "LeakyRelu")) {
      spell_rectifier(onnx, id);
    }
  }
  onnx.erase_unused();
  return onnx;
}

Graph read_quick_activations(Graph graph) {
  for (const NodeId id : graph.topological_order()) {
    if (read_exponential(graph, id)) {
      continue;
    }
    if (graph.node(id).op == "Max") {
      read_maximum(graph, id);
    } else if (graph.node(id).op == "Add") {
      read_sum_of_parts(graph, id);
    }
  }
  graph.erase_unused();
  return graph;
}

}  // namespace tare
