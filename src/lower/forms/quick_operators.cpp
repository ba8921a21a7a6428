// ReduceMean(x, axis -2) = MatMul([1/n ... 1/n], x), with a Squeeze behind where the axis does
// not stay. Pow(x, 2) = Mul(x, x). Flatten(x) = Reshape(x, [0, -1]).
#include "lower/forms/quick_operators.h"

#include "graph/operators/fixed_extents.h"
#include "lower/forms/add_operator.h"
#include "lower/forms/respell.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace tare {
namespace {

/// Of fewer elements it gains nothing.
constexpr std::int64_t kFewestElements = 4000;

/// The length of what the node takes the mean over; nothing where that is not the last axis but
/// one alone, or open.
std::optional<std::int64_t> length_of_mean(const Graph& graph, const Node& node) {
  if (node.op != "ReduceMean" || graph.type(node.inputs[0]).dtype != DType::kFloat32) {
    return std::nullopt;
  }
  const Shape& shape = graph.type(node.inputs[0]).shape;
  const auto axes = node.attributes.integers("axes", {});
  if (shape.size() < 2 || axes.size() != 1 || element_count(shape) < kFewestElements) {
    return std::nullopt;
  }
  const std::size_t axis = shape.size() - 2;
  const bool is_known = normalized_axis(axes[0], shape.size()) == axis && shape[axis] > 1 &&
                        is_fixed_extent(graph, node.inputs[0], axis);
  return is_known ? std::optional(shape[axis]) : std::nullopt;
}

void spell_mean(Graph& graph, NodeId id, std::int64_t length) {
  const Node node = graph.node(id);
  const std::string name = graph.name(node.outputs[0]);
  TensorType type = graph.type(node.inputs[0]);
  type.shape[type.shape.size() - 2] = 1;
  const std::vector<float> shares(static_cast<std::size_t>(length),
                                  1 / static_cast<float>(length));
  const ValueId row =
      graph.add_constant(graph.unique_name(name + "_shares"), Tensor::of({1, length}, shares));
  const ValueId mean =
      add_operator(graph, "MatMul", {row, node.inputs[0]}, type, name + "_mean");
  if (node.attributes.integer("keepdims", 1) == 1) {
    replace(graph, id, mean);
    return;
  }
  const ValueId axes = graph.add_constant(graph.unique_name(name + "_axes"),
                                          Tensor::of({1}, std::vector<std::int64_t>{-2}));
  replace(graph, id,
          add_operator(graph, "Squeeze", {mean, axes}, graph.type(node.outputs[0]),
                       name + "_squeezed"));
}

/// Whether the node multiplies by a row of numbers that are 1 / their number.
bool is_spelled_mean(const Graph& graph, const Node& node) {
  const Tensor* row = node.op == "MatMul" ? graph.constant(node.inputs[0]) : nullptr;
  if (row == nullptr || row->dtype() != DType::kFloat32 || row->shape().size() != 2 ||
      row->shape()[0] != 1 || row->shape()[1] < 2) {
    return false;
  }
  const float share = 1 / static_cast<float>(row->shape()[1]);
  return graph.constant(node.inputs[1]) == nullptr &&
         graph.type(node.inputs[1]).shape.size() > 1 &&
         std::ranges::all_of(row->view<float>(), [&](float x) { return x == share; });
}

void read_mean(Graph& graph, NodeId id) {
  const Node product = graph.node(id);
  const auto& readers = graph.users(product.outputs[0]);
  const bool is_squeezed =
      graph.single_use(product.outputs[0]) && graph.node(readers[0]).op == "Squeeze" &&
      constant_integers(graph, graph.node(readers[0]), 1) == std::vector<std::int64_t>{-2};
  const NodeId last = is_squeezed ? readers[0] : id;
  const ValueId result = graph.node(last).outputs[0];
  const auto rank = static_cast<std::int64_t>(graph.type(product.inputs[1]).shape.size());
  replace(graph, last,
          add_operator(graph, "ReduceMean", {product.inputs[1]}, graph.type(result),
                       graph.name(result),
                       {{"axes", std::vector<std::int64_t>{rank - 2}},
                        {"keepdims", std::int64_t{is_squeezed ? 0 : 1}}}));
}

/// The product of a value and itself in place of its power.
void spell_square(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  const TensorType type = graph.type(node.outputs[0]);
  constexpr std::int64_t kWorthIt = 1000;
  if (type == graph.type(node.inputs[0]) && type.dtype == DType::kFloat32 &&
      element_count(type.shape) >= kWorthIt && graph.constant(node.inputs[1]) != nullptr &&
      graph.constant(node.inputs[1])->to_double() == std::vector<double>{2}) {
    replace(graph, id,
            add_operator(graph, "Mul", {node.inputs[0], node.inputs[0]}, type,
                         graph.name(node.outputs[0]) + "_square"));
  }
}

/// A Reshape that says the same of real values, in whose place the engine copies nothing.
void spell_flatten(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  const TensorType type = graph.type(node.outputs[0]);
  if (node.attributes.integer("axis", 1) != 1 || type.dtype != DType::kFloat32 ||
      element_count(type.shape) == 0 ||
      producer_op(graph, node.inputs[0]) == "DequantizeLinear") {
    return;
  }
  const std::string name = graph.name(node.outputs[0]);
  const ValueId target = graph.add_constant(graph.unique_name(name + "_target"),
                                            Tensor::of({2}, std::vector<std::int64_t>{0, -1}));
  replace(graph, id,
          add_operator(graph, "Reshape", {node.inputs[0], target}, type, name + "_matrix"));
}

void read_flatten(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  if (constant_integers(graph, node, 1) == std::vector<std::int64_t>{0, -1}) {
    const std::string name = graph.name(node.outputs[0]);
    replace(graph, id,
            add_operator(graph, "Flatten", {node.inputs[0]}, graph.type(node.outputs[0]), name,
                         {{"axis", std::int64_t{1}}}));
  }
}

}  // namespace

Graph with_quick_operators(Graph onnx) {
  for (const NodeId id : onnx.topological_order()) {
    const std::string op = onnx.node(id).op;
    if (const auto length = length_of_mean(onnx, onnx.node(id))) {
      spell_mean(onnx, id, *length);
    } else if (op == "Pow") {
      spell_square(onnx, id);
    } else if (op == "Flatten") {
      spell_flatten(onnx, id);
    }
  }
  onnx.erase_unused();
  return onnx;
}

Graph read_quick_operators(Graph onnx) {
  for (const NodeId id : onnx.topological_order()) {
    if (!onnx.alive(id)) {
      continue;
    }
    if (is_spelled_mean(onnx, onnx.node(id))) {
      read_mean(onnx, id);
    } else if (onnx.node(id).op == "Reshape") {
      read_flatten(onnx, id);
    }
  }
  onnx.erase_unused();
  return onnx;
}

}  // namespace tare
