// A Pad between equal conversions pads storage values with the rounded pad value instead: the
// same result, as rounding is applied to each element by itself, and engines that would run it
// in float run it on bytes.

#include "tare/arithmetic.h"
#include "tare/graph.h"
#include "tare/tensor.h"

#include "lower/forms/engine_wishes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tare {
namespace {

constexpr std::size_t kValue = 2;

/// Between equal storage parameters, what the conversions around a Pad are.
struct PaddedStorage {
  ValueId storage;
  QuantParams params;
  std::vector<ValueId> results;
};

std::optional<QuantParams> one_scale(const Graph& graph, const Node& conversion) {
  const Tensor* scale = graph.constant(conversion.inputs[1]);
  const Tensor* zero =
      conversion.inputs.size() > 2 ? graph.constant(conversion.inputs[2]) : nullptr;
  if (scale == nullptr || zero == nullptr || scale->size() != 1 || zero->size() != 1 ||
      scale->dtype() != DType::kFloat32) {
    return std::nullopt;
  }
  return QuantParams{.storage = zero->dtype(),
                     .scale = {scale->view<float>()[0]},
                     .zero_point = {static_cast<std::int32_t>(zero->to_int64()[0])},
                     .axis = {},
                     .block = 0,
                     .narrow_range = false,
                     .bits = 0};
}

std::optional<PaddedStorage> padded_storage(const Graph& graph, const Node& pad) {
  const auto producer = graph.producer(pad.inputs[0]);
  const std::vector<NodeId> users = graph.users(pad.outputs[0]);
  if (!producer || users.empty() || pad.inputs.size() > kValue + 1 ||
      pad.attributes.text("mode", "constant") != "constant" ||
      graph.node(*producer).op != "DequantizeLinear" || graph.is_output(pad.outputs[0]) ||
      (pad.inputs.size() > kValue && graph.constant(pad.inputs[kValue]) == nullptr)) {
    return std::nullopt;
  }
  const Node& dequantize = graph.node(*producer);
  const auto params = one_scale(graph, dequantize);
  if (!params || size_of(params->storage) != 1) {
    return std::nullopt;  // ONNX Runtime has no kernel for 16 bits
  }
  PaddedStorage result{dequantize.inputs[0], *params, {}};
  for (const NodeId id : users) {
    const Node& user = graph.node(id);
    if (user.op != "QuantizeLinear" || one_scale(graph, user) != params) {
      return std::nullopt;
    }
    result.results.push_back(user.outputs[0]);
  }
  return result;
}

}  // namespace

Graph pad_storage(Graph qdq) {
  // Before, it is not defined for integers.
  constexpr int kOfAnyType = 13;
  if (qdq.opset < kOfAnyType) {
    return qdq;
  }
  std::vector<std::pair<NodeId, std::string>> renamed;
  for (const NodeId id : qdq.topological_order()) {
    const Node node = qdq.node(id);
    const auto padded = node.op == "Pad" ? padded_storage(qdq, node) : std::nullopt;
    if (!padded) {
      continue;
    }
    const Tensor value =
        node.inputs.size() > kValue ? *qdq.constant(node.inputs[kValue]) : Tensor::scalar(0.0F);
    const ValueId stored = qdq.add_constant(qdq.unique_name(node.name + "_value"),
                                            quantize(value, padded->params));
    const ValueId first = padded->results.front();
    const std::string name = qdq.unique_name(qdq.name(first) + "_padded");
    const NodeId direct = qdq.add_node(name, "Pad", {padded->storage, node.inputs[1], stored},
                                       {{name, qdq.type(first)}}, node.attributes);
    for (const ValueId result : padded->results) {
      qdq.replace_uses(result, qdq.node(direct).outputs[0]);
    }
    renamed.emplace_back(direct, node.name);
  }
  qdq.erase_unused();
  for (const auto& [node, name] : renamed) {
    qdq.rename(node, name);  // now that the one it replaces is gone
  }
  verify(qdq);
  return qdq;
}

}  // namespace tare
