#include "tare/lower.h"

namespace tare {

Graph with_real_biases(Graph qdq) {
  for (const NodeId id : qdq.topological_order()) {
    const Node node = qdq.node(id);
    const Tensor* bias = node.op == "DequantizeLinear" ? qdq.constant(node.inputs[0]) : nullptr;
    if (bias == nullptr || bias->dtype() != DType::kInt32) {
      continue;
    }
    const Tensor& scale = *qdq.constant(node.inputs[1]);
    const auto scales = scale.view<float>();
    const QuantParams params{.storage = DType::kInt32,
                             .scale = {scales.begin(), scales.end()},
                             .zero_point = std::vector<std::int32_t>(scales.size()),
                             .axis = scale.size() == 1 ? std::nullopt : std::optional(0),
                             .narrow_range = false};
    const ValueId real = qdq.add_constant(qdq.unique_name(qdq.name(node.inputs[0]) + "_real"),
                                          dequantize(*bias, params));
    qdq.replace_uses(node.outputs[0], real);
  }
  qdq.erase_unused();
  return qdq;
}

}  // namespace tare
