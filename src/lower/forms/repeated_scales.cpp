// A row of equal scales in place of one, so that ONNX Runtime from 1.20 on does not quantize
// float weights on its own account
// (docs/decisions/0021-float-layers-read-rows-of-equal-scales.md). It costs a scale and a zero
// point for each channel in the file; without it a MobileNet with eight float layers lost 11
// dB.

#include "tare/graph.h"

#include "graph/operators/product.h"
#include "lower/forms/engine_wishes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace tare {
namespace {

/// A product with float weights of its own, whose other operand is computed.
bool has_float_weights(const Graph& graph, const Node& node) {
  const Tensor* weights = is_product(node) ? graph.constant(node.inputs[1]) : nullptr;
  return weights != nullptr && weights->dtype() == DType::kFloat32;
}

/// The first axis but that of samples along which there is more than one value. Where extents
/// are left open it is the one that the weights of the product fix.
std::optional<std::size_t> axis_to_spread(const Graph& graph, const Node& product) {
  const Shape& shape = graph.type(product.inputs[0]).shape;
  const auto is_long = [&](std::size_t axis) { return shape[axis] > 1; };
  if (leaves_extents_open(graph)) {
    const std::size_t fixed = product.op == "MatMul" ? shape.size() - 1 : 1;
    const bool is_turned = product.attributes.integer("transA", 0) != 0;
    return is_long(fixed) && !is_turned ? std::optional(fixed) : std::nullopt;
  }
  for (std::size_t axis = 1; axis < shape.size(); ++axis) {
    if (is_long(axis)) {
      return axis;
    }
  }
  return std::nullopt;
}

Tensor repeated(const Tensor& one, std::int64_t count) {
  Tensor result(one.dtype(), {count});
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    std::copy_n(one.data(), size_of(one.dtype()),
                result.mutable_data() + i * size_of(one.dtype()));
  }
  return result;
}

/// The same DequantizeLinear with a scale for each channel, all equal; absent where the scale
/// already is a row.
std::optional<ValueId> spread(const Node& dequantize, std::size_t axis, Graph& graph) {
  const TensorType type = graph.type(dequantize.outputs[0]);
  const Tensor* scale = graph.constant(dequantize.inputs[1]);
  if (scale == nullptr || scale->size() != 1) {
    return std::nullopt;
  }
  std::vector<ValueId> operands{dequantize.inputs[0]};
  for (std::size_t i = 1; i < dequantize.inputs.size(); ++i) {
    const ValueId one = dequantize.inputs[i];
    operands.push_back(graph.add_constant(graph.unique_name(graph.name(one) + "_of_channels"),
                                          repeated(*graph.constant(one), type.shape[axis])));
  }
  const NodeId added = graph.add_node(
      "", "DequantizeLinear", std::move(operands),
      {{graph.unique_name(graph.name(dequantize.outputs[0]) + "_for_float"), type}},
      {{"axis", static_cast<std::int64_t>(axis)}});
  return graph.node(added).outputs[0];
}

}  // namespace

Graph with_repeated_scales(Graph onnx) {
  std::map<std::pair<ValueId, std::size_t>, std::optional<ValueId>> spreads;
  for (const NodeId id : onnx.topological_order()) {
    const Node node = onnx.node(id);
    const auto producer =
        has_float_weights(onnx, node) ? onnx.producer(node.inputs[0]) : std::nullopt;
    if (!producer || onnx.node(*producer).op != "DequantizeLinear") {
      continue;
    }
    const auto axis = axis_to_spread(onnx, node);
    if (!axis) {
      continue;
    }
    const auto [found, is_new] = spreads.try_emplace({node.inputs[0], *axis});
    if (is_new) {
      found->second = spread(Node(onnx.node(*producer)), *axis, onnx);
    }
    if (found->second) {
      onnx.set_input(id, 0, *found->second);
    }
  }
  onnx.erase_unused();
  return onnx;
}

}  // namespace tare
