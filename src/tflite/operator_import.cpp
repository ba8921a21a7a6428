#include "tflite/operator_import.h"

#include "tare/error.h"
#include "tare/graph.h"

#include "graph/arithmetic/onnx_number.h"
#include "graph/ir/verify.h"
#include "tflite/broadcast.h"

#include <algorithm>
#include <numeric>

namespace tare::tflite {
namespace {

[[noreturn]] void fail(ErrorCode code, const std::string& what, const std::string& expected) {
  Error error(code, "", what);
  if (!expected.empty()) {
    error.expected(expected);
  }
  throw error;
}

}  // namespace

void OperatorImport::refuse(const std::string& what, const std::string& expected) const {
  fail(ErrorCode::kInvalidModel, what, expected);
}

void OperatorImport::unsupported(const std::string& what, const std::string& expected) const {
  fail(ErrorCode::kUnsupported, what, expected);
}

const FileTensor& OperatorImport::input(std::size_t i) const {
  if (!has_input(i)) {
    refuse("has no operand " + std::to_string(i));
  }
  return graph_.tensor(op_.inputs[i]);
}

const FileTensor& OperatorImport::output(std::size_t i) const {
  if (i >= op_.outputs.size()) {
    refuse("has no result " + std::to_string(i));
  }
  return graph_.tensor(op_.outputs[i]);
}

const FileTensor* OperatorImport::intermediate(std::size_t i) const {
  const bool is_there = i < op_.intermediates.size() && op_.intermediates[i] >= 0;
  return is_there ? &graph_.tensor(op_.intermediates[i]) : nullptr;
}

void OperatorImport::require_rank(std::size_t i, std::size_t rank) const {
  if (this->rank(i) != rank) {
    refuse("operand " + std::to_string(i) + " has shape " + to_string(shape(i)),
           std::to_string(rank) + " axes");
  }
}

std::int64_t OperatorImport::axis(std::int64_t axis, std::size_t rank) const {
  return static_cast<std::int64_t>(normalized_axis(axis, rank));
}

ValueId OperatorImport::value(std::size_t i, Order order) {
  input(i);
  return graph_.expressed(op_.inputs[i], order);
}

ValueId OperatorImport::constant(std::size_t i, const std::vector<std::int64_t>& order) {
  if (!input(i).constant) {
    unsupported("operand " + std::to_string(i) + " is computed", "a constant");
  }
  require_rank(i, order.size());
  return graph_.expressed_constant(op_.inputs[i], shape(i), order);
}

ValueId OperatorImport::broadcastable(std::size_t i, std::size_t rank, Order order) {
  const std::size_t own = this->rank(i);
  if (order == Order::kFile || own == rank) {
    return value(i, order);
  }
  Shape wide(rank - own, 1);
  wide.insert(wide.end(), shape(i).begin(), shape(i).end());
  if (input(i).constant) {
    return graph_.expressed_constant(op_.inputs[i], wide, {0, 3, 1, 2});
  }
  return graph_.reordered(reshaped(value(i, Order::kFile), wide), Order::kFile, output().name);
}

std::vector<std::int64_t> OperatorImport::integers(std::size_t i) const {
  const FileTensor& tensor = input(i);
  if (!tensor.constant) {
    unsupported("operand " + std::to_string(i) + " is computed while running", "a constant");
  }
  if (!is_integer(tensor.type.dtype)) {
    refuse("operand " + std::to_string(i) + " holds " + std::string(name_of(tensor.type.dtype)),
           "integers");
  }
  return tensor.constant->to_int64();
}

std::int64_t OperatorImport::integer(std::size_t i) const {
  const std::vector<std::int64_t> values = integers(i);
  if (values.size() != 1) {
    refuse(
        "operand " + std::to_string(i) + " has " + std::to_string(values.size()) + " elements",
        "one");
  }
  return values[0];
}

Order OperatorImport::order_of(std::size_t i) const {
  const bool has_channels_first = has_input(i) && rank(i) == kImageRank && !input(i).constant &&
                                  graph_.has(op_.inputs[i], Order::kChannelsFirst);
  return has_channels_first ? Order::kChannelsFirst : Order::kFile;
}

Order OperatorImport::common_order() const {
  for (std::size_t i = 0; i < input_count(); ++i) {
    if (order_of(i) == Order::kChannelsFirst) {
      return Order::kChannelsFirst;
    }
  }
  return Order::kFile;
}

void OperatorImport::require_alike(const std::vector<ValueId>& values) const {
  for (const ValueId value : values) {
    const DType dtype = graph_.type(value).dtype;
    if (dtype != graph_.type(values[0]).dtype) {
      refuse("has an operand of type " + std::string(name_of(dtype)),
             std::string(name_of(graph_.type(values[0]).dtype)) + ", as another one");
    }
  }
}

ValueId OperatorImport::add(const std::string& op, std::vector<ValueId> inputs,
                            const Shape& shape, Attributes attributes) {
  const DType dtype = graph_.type(inputs[0]).dtype;
  return add(op, std::move(inputs), shape, dtype, std::move(attributes));
}

ValueId OperatorImport::add(const std::string& op, std::vector<ValueId> inputs,
                            const Shape& shape, DType dtype, Attributes attributes) {
  const TensorType type{.dtype = dtype, .shape = shape, .quant = {}, .point = {}};
  return graph_.add(op, std::move(inputs), type, output().name, std::move(attributes));
}

ValueId OperatorImport::cast(ValueId value, DType to) {
  if (graph_.type(value).dtype == to) {
    return value;
  }
  return add("Cast", {value}, shape_of(value), to, {{"to", onnx_number(to)}});
}

ValueId OperatorImport::reshaped(ValueId value, const Shape& to) {
  const Shape from = shape_of(value);
  if (from == to) {
    return value;
  }
  if (element_count(from) != element_count(to)) {
    refuse("turns shape " + to_string(from) + " into " + to_string(to));
  }
  return add("Reshape", {value, indices(to)}, to);
}

ValueId OperatorImport::expanded(ValueId value, const Shape& to) {
  const Shape from = shape_of(value);
  if (from.size() > to.size() || common_shape(*this, from, to) != to) {
    refuse("repeats shape " + to_string(from) + " to " + to_string(to));
  }
  return from == to ? value : add("Expand", {value, indices(to)}, to);
}

Shape OperatorImport::shape_from(std::size_t i) const {
  if (!input(i).constant) {
    return output().type.shape;
  }
  const TensorType type{
      .dtype = output().type.dtype, .shape = integers(i), .quant = {}, .point = {}};
  Faults faults;
  verify_type("", type, faults);
  faults.raise(ErrorCode::kInvalidModel);
  return type.shape;
}

ValueId OperatorImport::concatenated(const std::vector<ValueId>& values, std::size_t axis) {
  require_alike(values);
  Shape result = shape_of(values.at(0));
  result[axis] = 0;
  for (const ValueId value : values) {
    Shape shape = shape_of(value);
    result[axis] += shape[axis];
    shape[axis] = result[axis];
    if (shape != result) {
      refuse("puts shapes " + to_string(shape_of(values[0])) + " and " +
             to_string(shape_of(value)) + " beside each other");
    }
  }
  return add("Concat", values, result, {{"axis", static_cast<std::int64_t>(axis)}});
}

std::span<const std::byte> OperatorImport::custom_options() const {
  const auto* bytes = op_.options->custom_options();
  return bytes == nullptr ? std::span<const std::byte>()
                          : std::as_bytes(std::span(bytes->data(), bytes->size()));
}

std::vector<ValueId> OperatorImport::add_several(const std::string& op,
                                                 std::vector<ValueId> inputs,
                                                 const std::vector<TensorType>& types,
                                                 Attributes attributes) {
  Graph& graph = graph_.graph();
  std::vector<NamedType> results;
  for (std::size_t i = 0; i < types.size(); ++i) {
    results.push_back({graph.unique_name(output(i).name), types[i]});
  }
  const NodeId id = graph.add_node(graph.unique_name(output().name), op, std::move(inputs),
                                   std::move(results), std::move(attributes));
  return graph.node(id).outputs;
}

std::vector<ValueId> OperatorImport::split(ValueId value, std::size_t axis,
                                           const std::vector<std::int64_t>& extents) {
  const TensorType type = graph_.type(value);
  if (std::accumulate(extents.begin(), extents.end(), std::int64_t{0}) != type.shape[axis]) {
    refuse("splits an extent of " + std::to_string(type.shape[axis]) + " into " +
           to_string(extents));
  }
  std::vector<NamedType> results;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    TensorType part = type;
    part.shape[axis] = extents[i];
    results.push_back({graph_.graph().unique_name(output(i).name), part});
  }
  const ValueId sizes = indices(extents);
  Graph& graph = graph_.graph();
  const NodeId id =
      graph.add_node(graph.unique_name(output().name), "Split", {value, sizes},
                     std::move(results), {{"axis", static_cast<std::int64_t>(axis)}});
  return graph.node(id).outputs;
}

ValueId OperatorImport::indices(const std::vector<std::int64_t>& values) {
  return graph_.add_constant(
      output().name + "_indices",
      Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
}

ValueId OperatorImport::number(const Tensor& value) {
  return graph_.add_constant(output().name + "_number", value);
}

ValueId OperatorImport::activated(ValueId value, schema::Activation activation) {
  const Shape shape = shape_of(value);
  if (activation != schema::Activation_NONE && graph_.type(value).dtype != DType::kFloat32) {
    unsupported("is followed by an activation of integers");
  }
  switch (activation) {
    case schema::Activation_NONE:
      return value;
    case schema::Activation_RELU:
      return add("Relu", {value}, shape);
    case schema::Activation_RELU6:
      return add("Clip", {value, number(0), number(6)}, shape);
    case schema::Activation_RELU_N1_TO_1:
      return add("Clip", {value, number(-1), number(1)}, shape);
    case schema::Activation_TANH:
      return add("Tanh", {value}, shape);
    default:
      unsupported("is followed by activation " + std::to_string(activation));
  }
}

}  // namespace tare::tflite
