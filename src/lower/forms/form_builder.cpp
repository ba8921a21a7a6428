// The walk from the canonical integer graph to operators of ONNX. Each value has up to two
// forms, storage and real, and each is made when a reader first asks for it, so conversions
// appear where they are needed and nowhere else. Linear in the graph.
#include "lower/forms/form_builder.h"

#include "base/check.h"
#include "base/hash.h"
#include "graph/arithmetic/node_arithmetic.h"
#include "graph/arithmetic/storage_type.h"
#include "graph/ir/derived_names.h"
#include "graph/operators/affine_ops.h"
#include "graph/operators/product.h"
#include "graph/operators/quant_operands.h"
#include "graph/operators/shape_facts.h"
#include "lower/conversions.h"
#include "lower/integer_averages.h"

#include <algorithm>

namespace tare {

bool is_raw(const Graph& graph, const Node& node) {
  if (is_conversion(node) || is_integer_product(graph, node)) {
    return false;
  }
  if (reads_shape_only(node)) {
    return true;  // nothing is dequantized for it
  }
  const AffineOp* row = find_affine_op(graph, node);
  return row == nullptr ||
         (!graph.type(node.outputs[0]).quant && row->rule != AffineRule::kCompares);
}

bool is_accumulator(const TensorType& type) {
  return type.quant && is_sum_type(type.quant->storage);
}

Attributes FormBuilder::plain(Attributes attributes) {
  set_accumulator(attributes, {});
  set_numerics(attributes, Numerics::kOnnxRuntime);
  set_tie_breaking_point(attributes, std::nullopt);
  return attributes;
}

FormBuilder::FormBuilder(const Graph& integer) : from_(integer) {
  to_.graph_name = integer.graph_name;
  to_.opset = integer.opset;
  to_.dimension_names = integer.dimension_names;
  to_.file_types = integer.file_types;
  to_.affine_rows = integer.affine_rows;
  to_.reshape = integer.reshape;
  to_.tail = integer.tail;
}

Graph FormBuilder::build() {
  for (const ValueId input : from_.inputs()) {
    add_input(input);
  }
  for (const NodeId id : from_.topological_order()) {
    visit(from_.node(id));
  }
  std::vector<ValueId> outputs;
  for (const ValueId output : from_.outputs()) {
    outputs.push_back(named_output(output));
  }
  to_.set_outputs(outputs);
  to_.erase_unused();
  verify(to_);
  return std::move(to_);
}

void FormBuilder::add_input(ValueId input) {
  const TensorType& type = from_.type(input);
  const ValueId added = to_.add_input(from_.name(input), plain(type, type.dtype));
  (type.quant ? storage_ : expressed_)[input] = added;
}

void FormBuilder::visit(const Node& node) {
  const ValueId result = node.outputs[0];
  if (is_raw(from_, node)) {
    as_it_is(node);
    return;
  }
  const auto centre = spelled_centre(node);
  if (storage_.contains(result) || (!centre && on_storage(node))) {
    return;  // what is there already was made together with its operand
  }
  if (centre) {
    average_integers(node, *centre);
  } else if (node.op == "Quantize" || node.op == "Requantize") {
    set_storage(result, quantized(expressed(node.inputs[0]), from_.type(result),
                                  from_.name(result), original(result)));
  } else if (node.op == "Dequantize") {
    set_expressed(result, of_dequantize(node));
  } else {
    on_expressed(node);
  }
}

/// Who reads the same integers shares one real value, but that of a result has its name.
ValueId FormBuilder::of_dequantize(const Node& node) {
  const ValueId stored = node.inputs[0];
  const ValueId value = expressed(stored);
  if (!from_.is_output(node.outputs[0]) || named_.insert(value).second) {
    return value;
  }
  return storage_.contains(stored)
             ? dequantized(stored, from_.type(stored))
             : add("Identity", {value}, to_.type(value), from_.name(node.outputs[0]));
}

NodeId FormBuilder::copy(const Node& node, std::vector<ValueId> operands, bool on_storage) {
  std::vector<NamedType> results;
  for (const ValueId output : node.outputs) {
    const TensorType& type = from_.type(output);
    const bool is_real = type.quant && !on_storage;
    results.push_back({to_.unique_name(is_real ? original(output) : from_.name(output)),
                       plain(type, is_real ? DType::kFloat32 : type.dtype)});
  }
  return to_.add_node(to_.unique_name(node.name), node.op, std::move(operands),
                      std::move(results), plain(node.attributes));
}

void FormBuilder::as_it_is(const Node& node) {
  std::vector<ValueId> operands;
  for (const ValueId input : node.inputs) {
    const bool is_stored = input && from_.type(input).quant;
    operands.push_back(is_stored ? storage(input) : input ? expressed(input) : ValueId{});
  }
  const NodeId id = copy(node, std::move(operands), true);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId output = node.outputs[i];
    (from_.type(output).quant ? storage_ : expressed_)[output] = to_.node(id).outputs[i];
  }
}

bool FormBuilder::stays_in_range(const Node& node, const TensorType& result) const {
  const AffineOp* row = find_affine_op(from_, node);
  return row != nullptr &&
         (row->rule == AffineRule::kMoves || row->rule == AffineRule::kRectifies ||
          row->rule == AffineRule::kClamps) &&
         from_.type(node.inputs[0]).quant == result.quant;
}

void FormBuilder::on_expressed(const Node& node) {
  std::vector<ValueId> operands;
  for (const ValueId input : node.inputs) {
    operands.push_back(input ? expressed(input) : ValueId{});
  }
  const NodeId id = copy(node, std::move(operands), false);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId result = to_.node(id).outputs[i];
    const TensorType& type = from_.type(node.outputs[i]);
    if (type.quant && !is_accumulator(type)) {
      set_storage(node.outputs[i],
                  quantized(result, type, from_.name(node.outputs[i]),
                            original(node.outputs[i]), !stays_in_range(node, type)));
    } else {
      set_expressed(node.outputs[i], result);
    }
  }
}

void FormBuilder::average_integers(const Node& node, std::int32_t centre) {
  TensorType operand = from_.type(node.inputs[0]);
  operand.quant = as_integers(operand.dtype, centre);
  TensorType result = from_.type(node.outputs[0]);
  result.quant = as_averages(result.dtype, centre);
  const ValueId integers = dequantized(node.inputs[0], operand);
  const ValueId average = to_.node(copy(node, {integers}, false)).outputs[0];
  set_storage(node.outputs[0], quantized(average, result, from_.name(node.outputs[0]),
                                         original(node.outputs[0])));
}

/// Graph outputs keep their names, whatever computes them now. One that holds storage values
/// stays an integer.
ValueId FormBuilder::named_output(ValueId output) {
  const auto stored = storage_.find(output);
  const ValueId value = stored != storage_.end() ? stored->second : expressed(output);
  to_.rename(value, from_.name(output));
  return value;
}

ValueId FormBuilder::storage(ValueId value) {
  if (const auto found = storage_.find(value); found != storage_.end()) {
    return found->second;
  }
  const TensorType& type = from_.type(value);
  const Tensor* constant = from_.constant(value);
  check(constant != nullptr, "a form asks for storage values that nothing gives");
  return storage_[value] = to_.add_constant(to_.unique_name(from_.name(value)), *constant,
                                            plain(type, type.dtype));
}

ValueId FormBuilder::expressed(ValueId value) {
  if (const auto found = expressed_.find(value); found != expressed_.end()) {
    return found->second;
  }
  return expressed_[value] =
             from_.type(value).quant
                 ? dequantized(value, from_.type(value))
                 : to_.add_constant(to_.unique_name(from_.name(value)), *from_.constant(value));
}

ValueId FormBuilder::quantized(ValueId expressed, const TensorType& type,
                               const std::string& name, const std::string& original,
                               bool may_leave) {
  const auto [scale, zero_point] = parameters(type, original);
  if (may_leave && is_part_of_storage(*type.quant)) {
    expressed = clipped(expressed, *type.quant, original);
  }
  return add("QuantizeLinear", {expressed, scale, zero_point}, plain(type, type.quant->storage),
             name, axis_attributes(*type.quant));
}

/// QuantizeLinear saturates at the ends of the storage type only.
ValueId FormBuilder::clipped(ValueId expressed, const QuantParams& params,
                             const std::string& original) {
  const auto [low, high] = expressed_ends(params);
  const ValueId least = shared_constant(original + "_low", Tensor::scalar(low));
  const ValueId most = shared_constant(original + "_high", Tensor::scalar(high));
  return add("Clip", {expressed, least, most}, to_.type(expressed), original + "_clipped");
}

ValueId FormBuilder::dequantized(ValueId value, const TensorType& type) {
  const auto [scale, zero_point] = parameters(type, original(value));
  return add("DequantizeLinear", {storage(value), scale, zero_point},
             plain(type, DType::kFloat32), dequantized_name(original(value)),
             axis_attributes(*type.quant));
}

ValueId FormBuilder::add(const std::string& op, std::vector<ValueId> inputs,
                         const TensorType& type, const std::string& name,
                         const Attributes& attributes) {
  const NodeId id =
      to_.add_node("", op, std::move(inputs), {{to_.unique_name(name), type}}, attributes);
  return to_.node(id).outputs[0];
}

ValueId FormBuilder::shared_constant(const std::string& name, const Tensor& tensor) {
  const std::uint64_t digest = hash(std::span(tensor.data(), tensor.byte_size()));
  const auto [first, last] = shared_.equal_range(digest);
  const auto same = std::find_if(
      first, last, [&](const auto& entry) { return *to_.constant(entry.second) == tensor; });
  if (same != last) {
    return same->second;
  }
  return shared_.emplace(digest, to_.add_constant(to_.unique_name(name), tensor))->second;
}

std::string FormBuilder::original(ValueId value) const {
  return original_name(from_, value);
}

std::pair<ValueId, ValueId> FormBuilder::parameters(const TensorType& type,
                                                    const std::string& name) {
  const QuantParams& params = *type.quant;
  return {shared_constant(name + "_scale", scale_operand(params, type.shape)),
          shared_constant(name + "_zero_point", zero_point_operand(params, type.shape))};
}

TensorType FormBuilder::plain(const TensorType& type, DType dtype) {
  return {.dtype = dtype, .shape = type.shape, .quant = {}, .point = {}};
}

}  // namespace tare
