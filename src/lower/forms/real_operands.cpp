// ONNX Runtime fuses a product with two DequantizeLinear before it into one of integers, which
// for weights in blocks fails. So the activation before such a product is spelled with Cast,
// Sub and Mul, which compute the same in float32.
#include "lower/forms/real_operands.h"

#include "tare/graph.h"

#include "graph/arithmetic/onnx_number.h"
#include "graph/operators/product.h"

#include <map>
#include <optional>

namespace tare {
namespace {

const Node* dequantize_before(const Graph& graph, ValueId value) {
  const auto producer = value ? graph.producer(value) : std::nullopt;
  const Node* node = producer ? &graph.node(*producer) : nullptr;
  return node != nullptr && node->op == "DequantizeLinear" ? node : nullptr;
}

bool has_weight_blocks(const Graph& graph, const Node& node) {
  const Node* weights = is_product(node) ? dequantize_before(graph, node.inputs[1]) : nullptr;
  return weights != nullptr && weights->attributes.has("block_size");
}

/// Of one scale; absent where there are several, or where it is computed.
std::optional<ValueId> spelled_out(const Node& dequantize, Graph& graph) {
  constexpr std::size_t kZeroPoint = 2;
  const Tensor* scale = graph.constant(dequantize.inputs[1]);
  const bool has_zero = dequantize.inputs.size() > kZeroPoint && dequantize.inputs[kZeroPoint];
  const Tensor* zero = has_zero ? graph.constant(dequantize.inputs[kZeroPoint]) : nullptr;
  if (scale == nullptr || scale->size() != 1 || (has_zero && zero == nullptr)) {
    return std::nullopt;
  }
  const std::string name = graph.name(dequantize.outputs[0]);
  const TensorType type = graph.type(dequantize.outputs[0]);
  const auto number = [&](const char* suffix, float value) {
    return graph.add_constant(graph.unique_name(name + suffix), Tensor::scalar(value));
  };
  const auto add = [&](const char* op, std::vector<ValueId> operands, const char* suffix,
                       Attributes attributes = {}) {
    const NodeId id =
        graph.add_node("", op, std::move(operands), {{graph.unique_name(name + suffix), type}},
                       std::move(attributes));
    return graph.node(id).outputs[0];
  };
  const float middle = has_zero ? zero->to_float()[0] : 0;
  const float step = scale->to_float()[0];
  const ValueId real =
      add("Cast", {dequantize.inputs[0]}, "_cast", {{"to", onnx_number(DType::kFloat32)}});
  const ValueId centred = add("Sub", {real, number("_middle", middle)}, "_centred");
  return add("Mul", {centred, number("_step", step)}, "_real");
}

}  // namespace

Graph with_real_operands(Graph onnx) {
  std::map<ValueId, std::optional<ValueId>> spelled;
  for (const NodeId id : onnx.topological_order()) {
    const Node node = onnx.node(id);
    const Node* before =
        has_weight_blocks(onnx, node) ? dequantize_before(onnx, node.inputs[0]) : nullptr;
    if (before == nullptr) {
      continue;
    }
    const auto [found, is_new] = spelled.try_emplace(node.inputs[0]);
    if (is_new) {
      found->second = spelled_out(Node(*before), onnx);
    }
    if (found->second) {
      onnx.set_input(id, 0, *found->second);
    }
  }
  onnx.erase_unused();
  return onnx;
}

}  // namespace tare
