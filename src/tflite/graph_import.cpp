// A graph of ONNX operators from the tensors of a TensorFlow Lite file. A tensor may be there
// with channels last, as in the file, or first, as ONNX's convolutions want it, as storage
// values or as real ones; each form is made when somebody first asks for it. So no layout has
// to be decided beforehand, and a chain of operators that keeps one needs no Transpose.
#include "tflite/graph_import.h"

#include "tare/error.h"
#include "tare/graph.h"

#include "graph/operators/permute.h"
#include "graph/operators/quant_operands.h"

#include <algorithm>
#include <numeric>

namespace tare::tflite {
namespace {

/// Newest of the operators that are made here; writing raises it where a type needs that.
constexpr int kOpset = 17;

std::size_t at(Order order) {
  return static_cast<std::size_t>(order);
}

Order other(Order order) {
  return order == Order::kFile ? Order::kChannelsFirst : Order::kFile;
}

std::vector<std::int64_t> identity(std::size_t rank) {
  std::vector<std::int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

TensorType plain(const TensorType& type, DType dtype) {
  return {.dtype = dtype, .shape = type.shape, .quant = {}, .point = {}};
}

/// The type of storage values in a graph of QuantizeLinear: parameters are operands there.
TensorType stored(TensorType type) {
  type.quant.reset();
  return type;
}

/// As the file says it, for elements in that order.
TensorType type_in(Order order, const TensorType& type) {
  return order == Order::kFile ? type : permuted(type, to_channels_first());
}

}  // namespace

std::int64_t axis_in(Order order, std::int64_t axis) {
  const auto& moved = to_channels_first();
  return order == Order::kFile ? axis
                               : std::find(moved.begin(), moved.end(), axis) - moved.begin();
}

Shape shape_in(Order order, const Shape& shape) {
  return order == Order::kFile ? shape : permuted(shape, to_channels_first());
}

GraphImport::GraphImport(const ModelFile& file, Numerics numerics)
    : file_(file),
      numerics_(numerics),
      graph_(std::make_unique<Graph>()),
      values_(file.tensors.size()) {
  graph_->graph_name = file.graph_name;
  graph_->opset = kOpset;
  for (const int index : file.inputs) {
    const FileTensor& input = tensor(index);
    const ValueId added = graph_->add_input(input.name, stored(input.type));
    Values& values = values_[static_cast<std::size_t>(index)];
    (input.type.quant ? values.storage : values.expressed)[at(Order::kFile)] = added;
  }
}

GraphImport::~GraphImport() = default;

const TensorType& GraphImport::type(ValueId id) const {
  return graph_->type(id);
}

bool GraphImport::is_defined(int index) const {
  const Values& values = values_[static_cast<std::size_t>(index)];
  const auto is_there = [](ValueId value) { return static_cast<bool>(value); };
  return computed_constants_.contains(index) ||
         std::any_of(values.storage.begin(), values.storage.end(), is_there) ||
         std::any_of(values.expressed.begin(), values.expressed.end(), is_there);
}

bool GraphImport::has(int index, Order order) const {
  const Values& values = values_[static_cast<std::size_t>(index)];
  return values.storage[at(order)] || values.expressed[at(order)] ||
         (tensor(index).constant && tensor(index).type.shape.size() == kImageRank);
}

ValueId GraphImport::expressed(int index, Order order) {
  ValueId& result = values_[static_cast<std::size_t>(index)].expressed[at(order)];
  if (result) {
    return result;
  }
  const FileTensor& from = tensor(index);
  if (from.is_variable) {
    throw Error(ErrorCode::kUnsupported, "tensor '" + from.name + "'",
                "is a variable, and no state of its operator");
  }
  if (const ValueId storage = values_[static_cast<std::size_t>(index)].storage[at(order)]) {
    return result = dequantized(storage, *type_in(order, from.type).quant, from.name);
  }
  if (from.constant) {
    const Shape& shape = from.type.shape;
    return result = expressed_constant(
               index, shape,
               order == Order::kFile ? identity(shape.size()) : to_channels_first());
  }
  return result = reordered(expressed(index, other(order)), other(order), from.name);
}

ValueId GraphImport::expressed_constant(int index, const Shape& shape,
                                        const std::vector<std::int64_t>& order) {
  const FileTensor& from = tensor(index);
  TensorType type = from.type;
  if (type.quant && type.quant->axis) {
    *type.quant->axis += static_cast<int>(shape.size()) - static_cast<int>(type.shape.size());
  }
  type.shape = shape;
  type = permuted(std::move(type), order);
  const ValueId value =
      graph_->add_constant(graph_->unique_name(from.name),
                           permuted(from.constant->reshaped(shape), order), stored(type));
  return type.quant ? dequantized(value, *type.quant, from.name) : value;
}

ValueId GraphImport::expressed_elements(int index, const Tensor& elements) {
  const FileTensor& like = tensor(index);
  TensorType type = stored(like.type);
  type.shape = elements.shape();
  const ValueId value =
      graph_->add_constant(graph_->unique_name(like.name), elements, std::move(type));
  return like.type.quant ? dequantized(value, *like.type.quant, like.name) : value;
}

ValueId GraphImport::rounded(int index, ValueId expressed) {
  const FileTensor& like = tensor(index);
  if (!like.type.quant) {
    return expressed;
  }
  TensorType type = stored(like.type);
  type.shape = graph_->type(expressed).shape;
  const QuantParams& params = *like.type.quant;
  const ValueId scale = add_constant(like.name + "_scale", scale_operand(params, type.shape));
  const ValueId zero =
      add_constant(like.name + "_zero_point", zero_point_operand(params, type.shape));
  return dequantized(
      add("QuantizeLinear", {expressed, scale, zero}, type, like.name, axis_attributes(params)),
      params, like.name);
}

ValueId GraphImport::storage(int index, Order order) {
  const auto of = static_cast<std::size_t>(index);
  if (!values_[of].storage[at(order)]) {
    values_[of].storage[at(order)] = quantized(index, order, expressed(index, order));
  }
  return values_[of].storage[at(order)];
}

void GraphImport::define(int index, Order order, ValueId expressed) {
  const FileTensor& to = tensor(index);
  require_type(index, order, expressed, to.type.quant ? DType::kFloat32 : to.type.dtype);
  Values& values = values_[static_cast<std::size_t>(index)];
  if (to.type.quant) {
    set(index, values.storage[at(order)], quantized(index, order, expressed));
  } else {
    set(index, values.expressed[at(order)], expressed);
  }
}

void GraphImport::define_unshaped(int index, ValueId computed) {
  const FileTensor& to = tensor(index);
  if (!to.type.shape.empty() || to.type.quant ||
      to.type.dtype != graph_->type(computed).dtype) {
    define(index, Order::kFile, computed);
    return;
  }
  set(index, values_[static_cast<std::size_t>(index)].expressed[at(Order::kFile)], computed);
}

void GraphImport::define_constant(int index, Tensor values) {
  FileTensor computed = tensor(index);
  computed.constant = std::move(values);
  computed_constants_.insert_or_assign(index, std::move(computed));
}

void GraphImport::define_storage(int index, Order order, ValueId storage) {
  require_type(index, order, storage, tensor(index).type.dtype);
  TensorType type = graph_->type(storage);
  type.point = tensor(index).type.point;
  graph_->set_type(storage, std::move(type));
  set(index, values_[static_cast<std::size_t>(index)].storage[at(order)], storage);
}

void GraphImport::require_type(int index, Order order, ValueId computed, DType dtype) const {
  const FileTensor& to = tensor(index);
  const TensorType& type = graph_->type(computed);
  const bool same_rank = type.shape.size() == to.type.shape.size();
  if (!same_rank || type.shape != shape_in(order, to.type.shape) || type.dtype != dtype) {
    throw Error(ErrorCode::kInvalidModel, "tensor '" + to.name + "'",
                "is said to be " + std::string(name_of(dtype)) + to_string(to.type.shape))
        .expected("what its operator computes, " + std::string(name_of(type.dtype)) +
                  to_string(type.shape) +
                  (order == Order::kFile ? "" : " with channels first"));
  }
}

void GraphImport::set(int index, ValueId& place, ValueId value) {
  place = value;
  if (!graph_->is_input(value)) {
    graph_->rename(value, tensor(index).name);
  }
}

ValueId GraphImport::add(const std::string& op, std::vector<ValueId> inputs,
                         const TensorType& type, const std::string& name,
                         Attributes attributes) {
  const std::string unique = graph_->unique_name(name);
  const NodeId id =
      graph_->add_node(unique, op, std::move(inputs), {{unique, type}}, std::move(attributes));
  return graph_->node(id).outputs[0];
}

ValueId GraphImport::add_constant(const std::string& name, Tensor tensor) {
  return graph_->add_constant(graph_->unique_name(name), std::move(tensor));
}

ValueId GraphImport::dequantized(ValueId storage, const QuantParams& params,
                                 const std::string& name) {
  const Shape shape = graph_->type(storage).shape;
  const ValueId scale = add_constant(name + "_scale", scale_operand(params, shape));
  const ValueId zero = add_constant(name + "_zero_point", zero_point_operand(params, shape));
  return add("DequantizeLinear", {storage, scale, zero},
             plain(graph_->type(storage), DType::kFloat32), name + "_dequantized",
             axis_attributes(params));
}

ValueId GraphImport::quantized(int index, Order order, ValueId expressed) {
  const std::string& name = tensor(index).name;
  const TensorType type = type_in(order, tensor(index).type);
  const ValueId scale = add_constant(name + "_scale", scale_operand(*type.quant, type.shape));
  const ValueId zero =
      add_constant(name + "_zero_point", zero_point_operand(*type.quant, type.shape));
  return add("QuantizeLinear", {expressed, scale, zero}, stored(type), name + "_quantized",
             axis_attributes(*type.quant));
}

ValueId GraphImport::reordered(ValueId value, Order from, const std::string& name) {
  const auto& order = from == Order::kFile ? to_channels_first() : to_channels_last();
  TensorType type = graph_->type(value);
  const Shape before = type.shape;
  type = permuted(std::move(type), order);
  const std::size_t channels = from == Order::kFile ? 3 : 1;
  const bool one_position = element_count(before) == before[0] * before[channels];
  if (one_position || before[channels] == 1) {
    const ValueId shape =
        add_constant(name + "_shape", Tensor::of<std::int64_t>({kImageRank}, type.shape));
    return add("Reshape", {value, shape}, type, name + "_reordered");
  }
  return add("Transpose", {value}, type, name + "_reordered", {{"perm", order}});
}

/// Under the tensor's name, in the file's order.
ValueId GraphImport::output(int index) {
  const FileTensor& tensor = this->tensor(index);
  Values& values = values_[static_cast<std::size_t>(index)];
  ValueId value = values.storage[at(Order::kFile)];
  if (!value) {
    value = expressed(index, Order::kFile);
    if (tensor.type.quant) {
      value = values.storage[at(Order::kFile)] = quantized(index, Order::kFile, value);
    }
  }
  const bool is_named = std::find(outputs_.begin(), outputs_.end(), value) != outputs_.end();
  if (is_named || graph_->is_input(value) || graph_->constant(value) != nullptr) {
    value = add("Identity", {value}, graph_->type(value), tensor.name);
  }
  graph_->rename(value, tensor.name);
  return value;
}

Graph GraphImport::finish() {
  for (const int index : file_.outputs) {
    outputs_.push_back(output(index));
  }
  graph_->set_outputs(outputs_);
  graph_->erase_unused();
  verify(*graph_);
  return std::move(*graph_);
}

}  // namespace tare::tflite
