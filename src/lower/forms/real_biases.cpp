// Biases in float32 for engines that quantize them by themselves, as TensorRT and OpenVINO do.
// The int32 bias is expressed at its own scale, so an engine that rounds it to the product of
// both scales gets the same integers back, as far as float32 holds them.

#include "tare/graph.h"

#include "graph/ir/derived_names.h"
#include "lower/forms/engine_wishes.h"

namespace tare {
namespace {

/// A row of i32 with parameters that are known. Others, which no product of storage values has,
/// stay as they are.
bool is_bias(const Graph& graph, const Node& node) {
  if (node.op != "DequantizeLinear") {
    return false;
  }
  const Tensor* bias = graph.constant(node.inputs[0]);
  const Tensor* scale = graph.constant(node.inputs[1]);
  const bool is_row = bias != nullptr && scale != nullptr && bias->dtype() == DType::kInt32 &&
                      bias->shape().size() == 1 &&
                      (scale->size() == 1 || scale->size() == bias->size());
  if (!is_row || node.inputs.size() < 3) {
    return is_row;
  }
  const Tensor* zero = graph.constant(node.inputs[2]);
  return zero != nullptr && *zero == Tensor(DType::kInt32, zero->shape());
}

}  // namespace

Graph with_real_biases(Graph qdq) {
  for (const NodeId id : qdq.topological_order()) {
    const Node node = qdq.node(id);
    if (!is_bias(qdq, node)) {
      continue;
    }
    const Tensor& scale = *qdq.constant(node.inputs[1]);
    const auto scales = scale.view<float>();
    const QuantParams params{.storage = DType::kInt32,
                             .scale = {scales.begin(), scales.end()},
                             .zero_point = std::vector<std::int32_t>(scales.size()),
                             .axis = scale.size() == 1 ? std::nullopt : std::optional(0),
                             .narrow_range = false};
    const ValueId real =
        qdq.add_constant(qdq.unique_name(original_name(qdq.name(node.inputs[0]))),
                         dequantize(*qdq.constant(node.inputs[0]), params));
    qdq.replace_uses(node.outputs[0], real);
  }
  qdq.erase_unused();
  return qdq;
}

}  // namespace tare
