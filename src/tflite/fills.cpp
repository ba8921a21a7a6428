// Operators whose results are known from shapes, or repeat one element.
#include "graph/arithmetic/storage_type.h"
#include "tflite/operators.h"

#include <cmath>

namespace tare::tflite {
namespace {

/// Integers of the type that the result has.
Tensor integers_of_result(const OperatorImport& op, const Shape& shape,
                          const std::vector<std::int64_t>& values) {
  const DType dtype = op.output().type.dtype;
  if (dtype == DType::kInt64) {
    return Tensor::of<std::int64_t>(shape, values);
  }
  if (dtype != DType::kInt32) {
    op.refuse("has a result of type " + std::string(name_of(dtype)), "i32 or i64");
  }
  const std::vector<std::int32_t> narrow(values.begin(), values.end());
  return Tensor::of<std::int32_t>(shape, narrow);
}

/// The most elements of a constant that a few numbers in a file may ask for.
constexpr double kMostElements = 1 << 24;

/// How many steps there are from begin to limit.
std::int64_t range_size(const OperatorImport& op, double begin, double limit, double step) {
  const double count = std::ceil((limit - begin) / step);
  if (!(std::abs(step) > 0) || !std::isfinite(count) || count > kMostElements) {
    op.refuse("goes from " + std::to_string(begin) + " to " + std::to_string(limit) +
              " in steps of " + std::to_string(step));
  }
  return count < 0 ? 0 : static_cast<std::int64_t>(count);
}

}  // namespace

void fill(OperatorImport& op, std::string_view) {
  op.define(Order::kFile, op.expanded(op.value(1, Order::kFile), op.shape_from(0)));
}

void broadcast_to(OperatorImport& op, std::string_view) {
  op.define(Order::kFile, op.expanded(op.value(0, Order::kFile), op.shape_from(1)));
}

void zeros_like(OperatorImport& op, std::string_view) {
  const DType dtype = op.input(0).type.quant ? DType::kFloat32 : op.input(0).type.dtype;
  op.define(Order::kFile, op.expanded(op.number(Tensor(dtype, {})), op.shape(0)));
}

void shape_of_operand(OperatorImport& op, std::string_view) {
  const Shape& shape = op.shape(0);
  op.define(Order::kFile, op.number(integers_of_result(
                              op, {static_cast<std::int64_t>(shape.size())}, shape)));
}

void rank_of_operand(OperatorImport& op, std::string_view) {
  op.define(Order::kFile,
            op.number(integers_of_result(op, {}, {static_cast<std::int64_t>(op.rank(0))})));
}

/// Of constants: how many elements others make is not known before they run.
void range(OperatorImport& op, std::string_view) {
  std::vector<double> ends;
  for (const std::size_t i : {0U, 1U, 2U}) {
    if (!op.input(i).constant) {
      op.unsupported("operand " + std::to_string(i) + " is computed while running",
                     "a constant");
    }
    const std::vector<double> values = op.input(i).constant->to_double();
    if (values.size() != 1) {
      op.refuse("operand " + std::to_string(i) + " has shape " + to_string(op.shape(i)),
                "one element");
    }
    constexpr double kExact = 0x1p53;
    if (!(std::abs(values[0]) <= kExact)) {
      op.refuse("operand " + std::to_string(i) + " is " + std::to_string(values[0]));
    }
    ends.push_back(values[0]);
  }
  const Shape shape{range_size(op, ends[0], ends[1], ends[2])};
  if (op.output().type.dtype == DType::kFloat32) {
    std::vector<float> values;
    const auto first = static_cast<float>(ends[0]);
    const auto step = static_cast<float>(ends[2]);
    for (std::int64_t i = 0; i < shape[0]; ++i) {
      values.push_back(first + static_cast<float>(i) * step);
    }
    op.define_unshaped(op.number(Tensor::of<float>(shape, values)), 0);
    return;
  }
  std::vector<std::int64_t> values;
  const auto first = static_cast<std::int64_t>(ends[0]);
  const auto step = static_cast<std::int64_t>(ends[2]);
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    values.push_back(first + i * step);
  }
  op.define_unshaped(op.number(integers_of_result(op, shape, values)), 0);
}

}  // namespace tare::tflite
