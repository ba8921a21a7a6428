// Operators that take or put elements where indices say, and those that make indices.
#include "tflite/operators.h"

#include <algorithm>

namespace tare::tflite {
namespace {

/// Operand i in int64, in which ONNX counts.
ValueId wide_indices(OperatorImport& op, std::size_t i) {
  if (!is_integer(op.input(i).type.dtype) || op.input(i).type.quant) {
    op.refuse("operand " + std::to_string(i) + " holds no indices");
  }
  return op.cast(op.value(i, Order::kFile), DType::kInt64);
}

/// How many leading axes the tuples in operand i lead into.
std::int64_t tuple_length(const OperatorImport& op, std::size_t i, std::size_t rank) {
  if (op.rank(i) == 0 || op.shape(i).back() > static_cast<std::int64_t>(rank)) {
    op.refuse("has indices of shape " + to_string(op.shape(i)) + " into " +
              std::to_string(rank) + " axes");
  }
  return op.shape(i).back();
}

/// The shape of what tuples of these indices lead to in that shape.
Shape slices_shape(const Shape& indices, const Shape& of) {
  Shape result(indices.begin(), indices.end() - 1);
  result.insert(result.end(), of.begin() + indices.back(), of.end());
  return result;
}

}  // namespace

void gather_nd(OperatorImport& op, std::string_view) {
  tuple_length(op, 1, op.rank(0));
  const Shape shape = slices_shape(op.shape(1), op.shape(0));
  op.define(Order::kFile,
            op.add("GatherND", {op.value(0, Order::kFile), wide_indices(op, 1)}, shape));
}

/// Into zeros; what comes to one place adds up.
void scatter_nd(OperatorImport& op, std::string_view) {
  const Shape shape = op.shape_from(2);
  tuple_length(op, 0, shape.size());
  const ValueId updates = op.value(1, Order::kFile);
  const DType dtype = op.graph().type(updates).dtype;
  if (dtype == DType::kBool) {
    op.unsupported("scatters booleans");
  }
  if (op.shape_of(updates) != slices_shape(op.shape(0), shape)) {
    op.refuse("scatters " + to_string(op.shape(1)) + " by indices " + to_string(op.shape(0)) +
              " into " + to_string(shape));
  }
  const ValueId zeros = op.expanded(op.number(Tensor(dtype, {})), shape);
  op.define(Order::kFile, op.add("ScatterND", {zeros, wide_indices(op, 0), updates}, shape,
                                 {{"reduction", std::string("add")}}));
}

/// Indices outside of the depth give a row without the hot element; ONNX counts negative ones
/// from the end.
void one_hot(OperatorImport& op, std::string_view) {
  const std::int64_t depth = op.integer(1);
  const std::size_t rank = op.rank(0) + 1;
  const std::int64_t axis = op.axis(op.options<schema::OneHotOptions>().axis(), rank);
  if (depth < 0 || element_count(op.shape(2)) != 1 || element_count(op.shape(3)) != 1) {
    op.refuse("has depth " + std::to_string(depth) + " and values of shapes " +
              to_string(op.shape(2)) + " and " + to_string(op.shape(3)));
  }
  Shape shape = op.shape(0);
  shape.insert(shape.begin() + axis, depth);
  const ValueId given = wide_indices(op, 0);
  const ValueId is_negative = op.add(
      "Less", {given, op.number(Tensor::scalar(std::int64_t{0}))}, op.shape(0), DType::kBool);
  const ValueId indices =
      op.add("Where", {is_negative, op.number(Tensor::scalar(depth)), given}, op.shape(0),
             DType::kInt64);
  const ValueId on = op.reshaped(op.value(2, Order::kFile), {1});
  const ValueId off = op.reshaped(op.value(3, Order::kFile), {1});
  const ValueId values = op.concatenated({off, on}, 0);
  op.define(Order::kFile, op.add("OneHot", {indices, op.indices({depth}), values}, shape,
                                 op.graph().type(values).dtype, {{"axis", axis}}));
}

void top_k(OperatorImport& op, std::string_view) {
  const std::int64_t k = op.integer(1);
  if (op.rank(0) == 0 || k < 0 || k > op.shape(0).back() || op.output_count() != 2) {
    op.refuse("takes " + std::to_string(k) + " of " + to_string(op.shape(0)));
  }
  const ValueId x = op.value(0, Order::kFile);
  TensorType values = op.graph().type(x);
  values.quant.reset();
  values.point.clear();
  values.shape.back() = k;
  TensorType places = values;
  places.dtype = DType::kInt64;
  const std::vector<ValueId> results = op.add_several(
      "TopK", {x, op.indices({k})}, {values, places}, {{"axis", std::int64_t{-1}}});
  op.define(Order::kFile, results[0], 0);
  op.define(Order::kFile, op.cast(results[1], op.output(1).type.dtype), 1);
}

void cumsum(OperatorImport& op, std::string_view) {
  const auto& options = op.options<schema::CumsumOptions>();
  const std::int64_t axis = op.axis(op.integer(1), op.rank(0));
  const ValueId x = op.value(0, Order::kFile);
  op.define(Order::kFile, op.add("CumSum", {x, op.number(Tensor::scalar(axis))}, op.shape_of(x),
                                 {{"exclusive", static_cast<std::int64_t>(options.exclusive())},
                                  {"reverse", static_cast<std::int64_t>(options.reverse())}}));
}

}  // namespace tare::tflite
