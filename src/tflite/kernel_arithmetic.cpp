#include "tflite/kernel_arithmetic.h"

#include <algorithm>
#include <limits>

namespace tare::tflite {
namespace {

using Integers = std::vector<std::int64_t>;

/// A scalar where all are equal, else a row.
ValueId row(OperatorImport& op, const Integers& values) {
  const bool is_one = std::all_of(values.begin(), values.end(),
                                  [&](std::int64_t value) { return value == values[0]; });
  return is_one ? op.number(Tensor::scalar(values[0])) : op.indices(values);
}

/// x / 2^31, halves towards +infinity. Quotients of ONNX are cut off towards 0, so below 0 the
/// half that is added is one less than the divisor short of a half.
ValueId high_part(OperatorImport& op, ValueId x) {
  constexpr std::int64_t kWhole = std::int64_t{1} << 31;
  const Shape shape = op.shape_of(x);
  const ValueId is_below =
      op.add("Less", {x, op.number(Tensor::scalar(std::int64_t{0}))}, shape, DType::kBool);
  const ValueId half = op.add("Where",
                              {is_below, op.number(Tensor::scalar(1 - kWhole / 2)),
                               op.number(Tensor::scalar(kWhole / 2))},
                              shape, DType::kInt64);
  return with_number(op, "Div", op.add("Add", {x, half}, shape), kWhole);
}

/// x over powers of two, each at least 1; halves away from 0.
ValueId over_powers(OperatorImport& op, ValueId x, const Integers& powers) {
  Integers halves(powers);
  for (std::int64_t& half : halves) {
    half /= 2;
  }
  const Shape shape = op.shape_of(x);
  const ValueId half = op.add("Mul", {op.add("Sign", {x}, shape), row(op, halves)}, shape);
  return op.add("Div", {op.add("Add", {x, half}, shape), row(op, powers)}, shape);
}

bool is_all_one(const Integers& values) {
  return std::all_of(values.begin(), values.end(), [](std::int64_t v) { return v == 1; });
}

const QuantParams& params_of(const OperatorImport& op, const FileTensor& tensor) {
  if (!tensor.type.quant || tensor.type.quant->per_axis()) {
    op.unsupported("'" + tensor.name + "' has no parameters of the whole tensor");
  }
  return *tensor.type.quant;
}

}  // namespace

bool follows_tflite(const OperatorImport& op) {
  const Numerics numerics = op.numerics();
  return numerics == Numerics::kTfliteRef || numerics == Numerics::kTfliteBuiltin ||
         numerics == Numerics::kTfliteXnn;
}

float only_scale(const OperatorImport& op, const FileTensor& tensor) {
  return params_of(op, tensor).scale[0];
}

std::int64_t only_zero_point(const OperatorImport& op, const FileTensor& tensor) {
  return params_of(op, tensor).zero_point[0];
}

ValueId with_number(OperatorImport& op, const char* onnx, ValueId x, std::int64_t number) {
  return op.add(onnx, {x, op.number(Tensor::scalar(number))}, op.shape_of(x));
}

ValueId centred(OperatorImport& op, std::size_t i) {
  const std::int64_t zero_point = only_zero_point(op, op.input(i));
  const ValueId x = op.cast(op.storage(i, Order::kFile), DType::kInt64);
  return zero_point == 0 ? x : with_number(op, "Sub", x, zero_point);
}

Tensor raw_constant(const OperatorImport& op, std::size_t i, const Shape& shape) {
  if (op.shape(i) != shape) {
    op.refuse("operand " + std::to_string(i) + " has shape " + to_string(op.shape(i)),
              to_string(shape));
  }
  return Tensor::of<std::int64_t>(shape, op.integers(i));
}

Tensor columns_for_rows(const Tensor& matrix) {
  const auto rows = static_cast<std::size_t>(matrix.shape()[0]);
  const auto columns = static_cast<std::size_t>(matrix.shape()[1]);
  Tensor result(DType::kInt64, {matrix.shape()[1], matrix.shape()[0]});
  const auto from = matrix.view<std::int64_t>();
  const auto to = result.mutable_view<std::int64_t>();
  for (std::size_t i = 0; i < from.size(); ++i) {
    to[i % columns * rows + i / columns] = from[i];
  }
  return result;
}

ValueId rescaled(OperatorImport& op, ValueId x, std::span<const double> factors) {
  constexpr int kMostBits = 31;
  Integers ups;
  Integers significands;
  Integers downs;
  for (const double factor : factors) {
    const FixedPointFactor fixed = fixed_point_factor(factor);
    if (fixed.exponent > kMostBits) {
      op.unsupported("has scales whose ratio is " + std::to_string(factor));
    }
    // Below that the kernels multiply by 0.
    const bool is_zero = fixed.exponent < -kMostBits;
    ups.push_back(std::int64_t{1} << std::max(fixed.exponent, 0));
    significands.push_back(is_zero ? 0 : fixed.significand);
    downs.push_back(std::int64_t{1} << (is_zero ? 0 : std::max(-fixed.exponent, 0)));
  }
  const Shape shape = op.shape_of(x);
  if (!is_all_one(ups)) {
    // Where the integers of the kernels would wrap, they end here.
    x = bounded(op, op.add("Mul", {x, row(op, ups)}, shape),
                std::numeric_limits<std::int32_t>::min(),
                std::numeric_limits<std::int32_t>::max());
  }
  const ValueId high = high_part(op, op.add("Mul", {x, row(op, significands)}, shape));
  return is_all_one(downs) ? high : over_powers(op, high, downs);
}

ValueId shifted_down(OperatorImport& op, ValueId x, int bits) {
  return over_powers(op, x, {std::int64_t{1} << bits});
}

ValueId bounded(OperatorImport& op, ValueId x, std::int64_t low, std::int64_t high) {
  return op.add("Clip", {x, op.number(Tensor::scalar(low)), op.number(Tensor::scalar(high))},
                op.shape_of(x));
}

void define_integers(OperatorImport& op, ValueId x) {
  op.define_storage(Order::kFile, op.cast(x, op.output().type.dtype));
}

}  // namespace tare::tflite
