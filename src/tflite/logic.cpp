// Comparisons, what is computed of their results, and what these choose.
#include "tflite/broadcast.h"
#include "tflite/operators.h"
#include "tflite/storage_tables.h"

namespace tare::tflite {
namespace {

/// The kernels compare quantized operands after they have brought them to steps of 1/256.
Broadcast compared(OperatorImport& op) {
  if (!computes_by_tables(op, {0, 1})) {
    Broadcast pair = broadcast(op, 2);
    op.require_alike(pair.values);
    return pair;
  }
  constexpr int kFractionBits = 8;
  Broadcast pair;
  for (const std::size_t i : {0U, 1U}) {
    const auto scale = static_cast<double>(op.input(i).type.quant->scale[0]);
    pair.values.push_back(rescaled_by_table(op, i, kFractionBits, scale).value);
  }
  pair.shape = common_shape(op, op.shape_of(pair.values[0]), op.shape_of(pair.values[1]));
  return pair;
}

void require_booleans(const OperatorImport& op, std::size_t i) {
  if (op.input(i).type.dtype != DType::kBool) {
    op.refuse(
        "operand " + std::to_string(i) + " is " + std::string(name_of(op.input(i).type.dtype)),
        "booleans");
  }
}

}  // namespace

void compare(OperatorImport& op, std::string_view onnx) {
  const Broadcast pair = compared(op);
  op.define(pair.order, op.add(std::string(onnx), pair.values, pair.shape, DType::kBool));
}

void not_equal(OperatorImport& op, std::string_view) {
  const Broadcast pair = compared(op);
  const ValueId equal = op.add("Equal", pair.values, pair.shape, DType::kBool);
  op.define(pair.order, op.add("Not", {equal}, pair.shape));
}

void logical(OperatorImport& op, std::string_view onnx) {
  require_booleans(op, 0);
  require_booleans(op, 1);
  binary(op, onnx);
}

void logical_not(OperatorImport& op, std::string_view) {
  require_booleans(op, 0);
  unary(op, "Not");
}

/// SELECT, whose condition may also be a row that says which parts along the first axis to
/// take.
void select(OperatorImport& op, std::string_view) {
  const bool by_parts = op.rank(0) == 1 && op.rank(1) > 1;
  if (!by_parts) {
    select_v2(op, {});
    return;
  }
  require_booleans(op, 0);
  const Shape& shape = op.shape(1);
  if (op.shape(2) != shape || op.shape(0)[0] != shape[0]) {
    op.refuse("chooses by " + to_string(op.shape(0)) + " between " + to_string(shape) +
              " and " + to_string(op.shape(2)));
  }
  Shape aligned(shape.size(), 1);
  aligned[0] = shape[0];
  const ValueId condition = op.reshaped(op.value(0, Order::kFile), aligned);
  const ValueId a = op.value(1, Order::kFile);
  const ValueId b = op.value(2, Order::kFile);
  op.require_alike({a, b});
  op.define(Order::kFile, op.add("Where", {condition, a, b}, shape, op.graph().type(a).dtype));
}

void select_v2(OperatorImport& op, std::string_view) {
  require_booleans(op, 0);
  const Broadcast all = broadcast(op, 3);
  op.require_alike({all.values[1], all.values[2]});
  op.define(all.order,
            op.add("Where", all.values, all.shape, op.graph().type(all.values[1]).dtype));
}

}  // namespace tare::tflite
