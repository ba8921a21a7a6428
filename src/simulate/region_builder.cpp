// Replaces regions of a graph one by one, in topological order. What stands for a value of the
// source is kept beside it, as real value and as storage values for each point, so that regions
// which read the same value share its conversion. Linear in the graph.
#include "simulate/region_builder.h"

#include "base/check.h"
#include "graph/arithmetic/node_arithmetic.h"
#include "graph/ir/derived_names.h"
#include "graph/operators/affine_ops.h"
#include "graph/operators/product.h"

namespace tare {
ValueId point_root(const Graph& graph, ValueId value) {
  for (;;) {
    const auto producer = graph.producer(value);
    if (!producer) {
      return value;
    }
    const Node& node = graph.node(*producer);
    const AffineOp* row = find_affine_op(graph, node);
    if (row == nullptr || row->rule != AffineRule::kMoves ||
        graph.constant(node.inputs[0]) != nullptr) {
      return value;
    }
    value = node.inputs[0];
  }
}

bool is_fused_activation(const Graph& graph, const Node& node) {
  const AffineOp* row = find_affine_op(graph, node);
  return row != nullptr &&
         (row->rule == AffineRule::kRectifies || row->rule == AffineRule::kClamps);
}

std::vector<NodeId> fused_activations(const Graph& graph, const Region& region) {
  std::vector<NodeId> result;
  ValueId value = graph.node(region.match.root()).outputs[0];
  while (graph.single_use(value) &&
         is_fused_activation(graph, graph.node(graph.users(value)[0]))) {
    result.push_back(graph.users(value)[0]);
    value = graph.node(result.back()).outputs[0];
  }
  return result;
}

std::vector<NodeId> layer_nodes(const Graph& graph, const Region& region) {
  std::vector<NodeId> result = region.match.nodes();
  const std::vector<NodeId> fused = fused_activations(graph, region);
  result.insert(result.end(), fused.begin(), fused.end());
  return result;
}

ValueId fused_result(const Graph& graph, const Region& region) {
  const std::vector<NodeId> activations = fused_activations(graph, region);
  const NodeId last = activations.empty() ? region.match.root() : activations.back();
  return graph.node(last).outputs[0];
}

ValueId RegionBuilder::current(ValueId value) const {
  const auto found = current_.find(value);
  return found == current_.end() ? value : found->second;
}

PointId RegionBuilder::point_of(ValueId storage) const {
  const auto point = points().find(working_.type(storage).point);
  check(point.has_value(), "a storage value has no point");
  return *point;
}

ValueId RegionBuilder::storage(ValueId value, PointId point) {
  const auto key = std::pair(point, value);
  if (const auto found = storage_.find(key); found != storage_.end()) {
    return found->second;
  }
  const TensorType type = storage_type(source_->type(value).shape, points()[point]);
  const ValueId result = add_quantize(
      current(value), type, working_.unique_name(quantized_name(source_->name(value))));
  storage_.emplace(key, result);
  return result;
}

void RegionBuilder::forget_from(PointId first) {
  storage_.erase(storage_.lower_bound({first, ValueId{0}}), storage_.end());
}

ValueId RegionBuilder::activation(ValueId value) {
  return storage(value, activation_point(point_root(*source_, value)));
}

ValueId RegionBuilder::bias(const Node& reader, ValueId constant, ValueId input,
                            ValueId weight) {
  const PointId point = accumulator_point(reader, point_of(input), point_of(weight), constant);
  const Shape& result = source_->type(reader.outputs[0]).shape;
  // Integer kernels take the bias as one row.
  const Shape row{result.at(static_cast<std::size_t>(channel_axis(reader, result)))};
  const std::string name = constant ? source_->name(constant) : reader.name + "_bias";
  ValueId flat = constant;
  if (!constant) {
    flat = working_.add_constant(working_.unique_name(name), Tensor(DType::kFloat32, row));
  } else if (source_->type(constant).shape != row) {
    flat = working_.add_constant(working_.unique_name(name),
                                 source_->constant(constant)->reshaped(row));
  }
  return add_bias(flat, storage_type(row, points()[point]),
                  working_.unique_name(quantized_name(name)));
}

ValueId RegionBuilder::accumulate(const Node& node, std::vector<ValueId> operands) {
  const Shape& shape = source_->type(node.outputs[0]).shape;
  const PointId point =
      accumulator_point(node, point_of(operands[0]), point_of(operands[1]), {});
  if (!operands.back()) {
    operands.pop_back();
  }
  const Accumulator& held = arithmetic_->of(node.name).accumulator;
  TensorType type = storage_type(shape, points()[point]);
  if (type.quant) {
    type.dtype =
        sum_type(working_.type(operands[0]).dtype, working_.type(operands[1]).dtype, held);
    type.quant->storage = type.dtype;
    if (type.quant->axis) {
      type.quant->axis = channel_axis(node, shape);
    }
  }
  Attributes attributes = node.attributes;
  set_accumulator(attributes, held);
  const std::string& result = source_->name(node.outputs[0]);
  const ValueId sum = add_node(node, std::move(operands), type, accumulated_name(result),
                               std::move(attributes));
  const ValueId expressed = dequantized(sum);
  wanted_results_.emplace_back(*working_.producer(expressed), result);
  return expressed;
}

ValueId RegionBuilder::apply(const Node& node, std::vector<ValueId> operands) {
  for (ValueId& operand : operands) {
    if (operand) {
      operand = dequantized(current(operand));
    }
  }
  const std::string& result = source_->name(node.outputs[0]);
  const ValueId expressed = add_node(node, std::move(operands), source_->type(node.outputs[0]),
                                     result, node.attributes);
  wanted_results_.emplace_back(*working_.producer(expressed), result);
  return expressed;
}

ValueId RegionBuilder::dequantized(ValueId storage) {
  const TensorType& type = working_.type(storage);
  if (!type.quant && type.point.empty()) {
    return storage;
  }
  if (const auto found = dequantized_.find(storage); found != dequantized_.end()) {
    return found->second;
  }
  const TensorType expressed{
      .dtype = DType::kFloat32, .shape = type.shape, .quant = {}, .point = {}};
  const NodeId id = working_.add_node(
      "", std::string(dequantize_op()), {storage},
      {{working_.unique_name(dequantized_name(original_name(working_.name(storage)))),
        expressed}});
  const ValueId result = working_.node(id).outputs[0];
  dequantized_.emplace(storage, result);
  return result;
}

ValueId RegionBuilder::add_node(const Node& like, std::vector<ValueId> operands,
                                TensorType type, const std::string& name,
                                Attributes attributes) {
  const NodeId id =
      working_.add_node(working_.unique_name(like.name), like.op, std::move(operands),
                        {{working_.unique_name(name), std::move(type)}}, std::move(attributes));
  wanted_nodes_.emplace_back(id, like.name);
  return working_.node(id).outputs[0];
}

void RegionBuilder::replace(const Region& region, ValueId expressed) {
  const ValueId result = source_->node(region.match.root()).outputs[0];
  check(!current_.contains(result), "two regions have the same result");
  working_.replace_uses(result, expressed);
  current_[result] = expressed;
}

void RegionBuilder::quantize_for_all(ValueId value) {
  const ValueId quantized = activation(value);
  const ValueId expressed = dequantized(quantized);
  const ValueId before = current(value);
  if (before == expressed) {
    return;
  }
  const NodeId quantizer = *working_.producer(quantized);
  working_.replace_uses(before, expressed);
  // The value may be read under several points; those read the value itself, as does this one.
  working_.set_input(quantizer, 0, before);
}

/// What was replaced has gone and left its names.
void RegionBuilder::take_names() {
  for (const auto& [node, name] : wanted_nodes_) {
    if (working_.alive(node)) {
      working_.rename(node, name);
    }
  }
  for (const auto& [node, name] : wanted_results_) {
    if (working_.alive(node) && !working_.find_value(name) &&
        !working_.is_output(working_.node(node).outputs[0])) {
      working_.rename(working_.node(node).outputs[0], name);
    }
  }
}

Graph RegionBuilder::take() {
  working_.erase_unused();
  take_names();
  verify(working_);
  return std::move(working_);
}

}  // namespace tare
