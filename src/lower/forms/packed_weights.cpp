// Marks weights whose integers fit into 4 bits, for targets that read INT4 and UINT4
// (docs/decisions/0022-packed-weights-are-for-targets-that-have-them.md). One look at each
// weight.

#include "tare/graph.h"

#include "graph/arithmetic/packed.h"
#include "graph/operators/product.h"
#include "lower/forms/engine_wishes.h"

#include <algorithm>

namespace tare {
namespace {

/// Of int8 or uint8.
bool fits(const Tensor& integers) {
  const StorageRange range = packed_params(integers.dtype()).range();
  const auto all_fit = [range](const auto& values) {
    return std::all_of(values.begin(), values.end(), [range](std::int64_t value) {
      return value >= range.low && value <= range.high;
    });
  };
  return integers.dtype() == DType::kInt8 ? all_fit(integers.view<std::int8_t>())
                                          : all_fit(integers.view<std::uint8_t>());
}

/// Whether only products read the node's result, as their second factor.
bool is_weight(const Graph& graph, const Node& dequantize) {
  const ValueId value = dequantize.outputs[0];
  const auto& users = graph.users(value);
  return !users.empty() && !graph.is_output(value) &&
         std::all_of(users.begin(), users.end(), [&](NodeId user) {
           const Node& node = graph.node(user);
           return is_product(node) && node.inputs[1] == value && node.inputs[0] != value;
         });
}

bool is_byte(const Tensor& tensor) {
  return tensor.dtype() == DType::kInt8 || tensor.dtype() == DType::kUint8;
}

void pack(Graph& graph, ValueId constant) {
  TensorType type = graph.type(constant);
  type.quant = packed_params(type.dtype);
  graph.set_type(constant, type);
}

/// A copy, as others may share it; absent where it is 0, which goes without saying.
ValueId packed_zero_point(Graph& graph, ValueId zero_point) {
  const Tensor tensor = *graph.constant(zero_point);
  if (tensor == Tensor(tensor.dtype(), tensor.shape())) {
    return {};
  }
  const ValueId own = graph.add_constant(graph.unique_name(graph.name(zero_point)), tensor);
  pack(graph, own);
  return own;
}

}  // namespace

Graph with_packed_weights(Graph qdq, bool only_blocks) {
  constexpr std::size_t kZeroPoint = 2;
  for (const NodeId id : qdq.topological_order()) {
    const Node node = qdq.node(id);
    if (node.op != "DequantizeLinear" || !is_weight(qdq, node) ||
        (only_blocks && !node.attributes.has("block_size"))) {
      continue;
    }
    const Tensor* weights = qdq.constant(node.inputs[0]);
    const bool has_zero = node.inputs.size() > kZeroPoint && node.inputs[kZeroPoint];
    const Tensor* zero = has_zero ? qdq.constant(node.inputs[kZeroPoint]) : nullptr;
    if (weights == nullptr || !is_byte(*weights) || !fits(*weights) ||
        qdq.users(node.inputs[0]).size() > 1 ||
        (has_zero && (zero == nullptr || !fits(*zero)))) {
      continue;
    }
    pack(qdq, node.inputs[0]);
    if (has_zero) {
      qdq.set_input(id, kZeroPoint, packed_zero_point(qdq, node.inputs[kZeroPoint]));
    }
  }
  qdq.erase_unused();
  return qdq;
}

}  // namespace tare
