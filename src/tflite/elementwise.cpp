// Operators that look at one element, or at one of each operand.
#include "graph/arithmetic/rescale.h"
#include "graph/arithmetic/storage_type.h"
#include "tflite/broadcast.h"
#include "tflite/operators.h"
#include "tflite/storage_tables.h"

#include <algorithm>
#include <cmath>

namespace tare::tflite {
namespace {

/// Two operands of one type of elements.
Broadcast alike_pair(OperatorImport& op) {
  Broadcast pair = broadcast(op, 2);
  op.require_alike(pair.values);
  return pair;
}

/// Two operands that are no integers with parameters: what kernels make of these is not known.
Broadcast whole_pair(OperatorImport& op) {
  if (op.input(0).type.quant || op.input(1).type.quant) {
    op.unsupported("divides quantized values", "float or plain integers");
  }
  return alike_pair(op);
}

template <class Options>
void arithmetic(OperatorImport& op, const char* onnx) {
  const Broadcast operands = alike_pair(op);
  const ValueId y = op.add(onnx, operands.values, operands.shape);
  // Without options there is nothing behind it.
  const auto* options = op.given_options<Options>();
  op.define(operands.order, options == nullptr ? y : op.activated(y, options->activation()));
}

/// Operand 0 between 0 and `high`, whose integers become those of the result as they are.
void bound_integers(OperatorImport& op, const QuantParams& params, float high) {
  const auto zero = static_cast<float>(params.zero_point[0]);
  const auto bound = [&](float real) {
    const float integer = std::round(real / params.scale[0]) + zero;
    const auto top = static_cast<float>(params.range().high);
    return with_storage(params.storage, [&](auto type) {
      return op.number(Tensor::scalar(static_cast<decltype(type)>(std::min(integer, top))));
    });
  };
  const Order order = op.order_of(0);
  const ValueId x = op.storage(0, order);
  op.define_storage(order, op.add("Clip", {x, bound(0), bound(high)}, op.shape_of(x)));
}

ValueId zero_point_of(OperatorImport& op, const QuantParams& params) {
  return op.number(static_cast<float>(params.zero_point[0]));
}

void rectify(OperatorImport& op, schema::Activation activation) {
  const Order order = op.order_of(0);
  op.define(order, op.activated(op.value(0, order), activation));
}

}  // namespace

void unary(OperatorImport& op, std::string_view onnx) {
  const Order order = op.order_of(0);
  const ValueId x = op.value(0, order);
  op.define(order, op.add(std::string(onnx), {x}, op.shape_of(x)));
}

void reciprocal_root(OperatorImport& op, std::string_view) {
  const Order order = op.order_of(0);
  const ValueId x = op.value(0, order);
  const Shape shape = op.shape_of(x);
  op.define(order, op.add("Reciprocal", {op.add("Sqrt", {x}, shape)}, shape));
}

void add(OperatorImport& op, std::string_view) {
  arithmetic<schema::AddOptions>(op, "Add");
}

void subtract(OperatorImport& op, std::string_view) {
  arithmetic<schema::SubOptions>(op, "Sub");
}

void multiply(OperatorImport& op, std::string_view) {
  arithmetic<schema::MulOptions>(op, "Mul");
}

void divide(OperatorImport& op, std::string_view) {
  arithmetic<schema::DivOptions>(op, "Div");
}

void binary(OperatorImport& op, std::string_view onnx) {
  const Broadcast operands = alike_pair(op);
  op.define(operands.order, op.add(std::string(onnx), operands.values, operands.shape));
}

/// ONNX divides integers towards 0: one less where the remainder has the sign of the divisor
/// only after it was made to have it.
void floor_divide(OperatorImport& op, std::string_view) {
  const Broadcast pair = whole_pair(op);
  const DType dtype = op.graph().type(pair.values[0]).dtype;
  const ValueId quotient = op.add("Div", pair.values, pair.shape);
  if (!is_integer(dtype)) {
    op.define(pair.order, op.add("Floor", {quotient}, pair.shape));
    return;
  }
  const ValueId floored = op.add("Mod", pair.values, pair.shape);
  const ValueId truncated = op.add("Mod", pair.values, pair.shape, {{"fmod", std::int64_t{1}}});
  const ValueId same = op.add("Equal", {floored, truncated}, pair.shape, DType::kBool);
  const ValueId differ = op.add("Not", {same}, pair.shape);
  const ValueId one = op.cast(differ, dtype);
  op.define(pair.order, op.add("Sub", {quotient, one}, pair.shape));
}

/// ONNX has the remainder of floats with the sign of the dividend only.
void floor_modulo(OperatorImport& op, std::string_view) {
  const Broadcast pair = whole_pair(op);
  if (is_integer(op.graph().type(pair.values[0]).dtype)) {
    op.define(pair.order, op.add("Mod", pair.values, pair.shape));
    return;
  }
  const ValueId divisor = pair.values[1];
  const ValueId rest = op.add("Mod", pair.values, pair.shape, {{"fmod", std::int64_t{1}}});
  const ValueId signs = op.add(
      "Mul",
      {op.add("Sign", {rest}, pair.shape), op.add("Sign", {divisor}, op.shape_of(divisor))},
      pair.shape);
  const ValueId differ = op.add("Less", {signs, op.number(0)}, pair.shape, DType::kBool);
  const ValueId moved = op.add("Add", {rest, divisor}, pair.shape);
  op.define(pair.order,
            op.add("Where", {differ, moved, rest}, pair.shape, op.graph().type(rest).dtype));
}

void square(OperatorImport& op, std::string_view) {
  const Order order = op.order_of(0);
  const ValueId x = op.value(0, order);
  op.define(order, op.add("Mul", {x, x}, op.shape_of(x)));
}

/// The kernels bring quantized operands to a common scale with 7 bits behind the point.
void squared_difference(OperatorImport& op, std::string_view) {
  const auto& result = op.output().type.quant;
  if (!computes_by_tables(op, {0, 1}) || !result || size_of(result->storage) != 1) {
    const Broadcast pair = alike_pair(op);
    const ValueId difference = op.add("Sub", pair.values, pair.shape);
    op.define(pair.order, op.add("Mul", {difference, difference}, pair.shape));
    return;
  }
  constexpr int kFractionBits = 7;
  const auto scale = [&](std::size_t i) {
    return static_cast<double>(op.input(i).type.quant->scale[0]);
  };
  const double common = 2 * std::max(scale(0), scale(1));
  const Rescaled a = rescaled_by_table(op, 0, kFractionBits, scale(0) / common);
  const Rescaled b = rescaled_by_table(op, 1, kFractionBits, scale(1) / common);
  const Shape shape = common_shape(op, op.shape_of(a.value), op.shape_of(b.value));
  const ValueId difference = op.add("Abs", {op.add("Sub", {a.value, b.value}, shape)}, shape);
  const FixedPointFactor factor = fixed_point_factor(
      common * common /
      (std::ldexp(1.0, 2 * kFractionBits) * static_cast<double>(result->scale[0])));
  const Tensor table = with_storage(result->storage, [&](auto type) {
    using Q = decltype(type);
    std::vector<Q> squares;
    for (std::int64_t d = 0; d <= a.most + b.most; ++d) {
      const std::int64_t square = rescale_twice(static_cast<std::int32_t>(d * d), factor);
      const StorageRange range = result->range();
      squares.push_back(
          static_cast<Q>(std::clamp(square + result->zero_point[0], range.low, range.high)));
    }
    return Tensor::of<Q>({static_cast<std::int64_t>(squares.size())}, squares);
  });
  op.define_storage(Order::kFile, looked_up(op, table, difference));
}

void add_all(OperatorImport& op, std::string_view) {
  op.input(0);  // is there
  const Broadcast all = broadcast(op, op.input_count());
  op.require_alike(all.values);
  ValueId sum = all.values[0];
  for (std::size_t i = 1; i < all.values.size(); ++i) {
    sum = op.add("Add", {sum, all.values[i]}, all.shape);
  }
  op.define(all.order, sum);
}

void relu(OperatorImport& op, std::string_view) {
  rectify(op, schema::Activation_RELU);
}

void relu6(OperatorImport& op, std::string_view) {
  const auto& from = op.input(0).type.quant;
  const auto& to = op.output().type.quant;
  if (op.graph().numerics() == Numerics::kTfliteRef && from && to && from != to &&
      !from->per_axis() && from->storage == to->storage) {
    bound_integers(op, *from, 6);
  } else {
    rectify(op, schema::Activation_RELU6);
  }
}

void relu_n1_to_1(OperatorImport& op, std::string_view) {
  rectify(op, schema::Activation_RELU_N1_TO_1);
}

void leaky_relu(OperatorImport& op, std::string_view) {
  const float alpha = op.options<schema::LeakyReluOptions>().alpha();
  const Order order = op.order_of(0);
  const ValueId x = op.value(0, order);
  op.define(order, op.add("LeakyRelu", {x}, op.shape_of(x), {{"alpha", alpha}}));
}

void prelu(OperatorImport& op, std::string_view) {
  const Broadcast operands = alike_pair(op);
  op.define(operands.order, op.add("PRelu", operands.values, operands.shape));
}

void gelu(OperatorImport& op, std::string_view) {
  const bool by_tanh = op.options<schema::GeluOptions>().approximate();
  const Order order = op.order_of(0);
  const ValueId x = op.value(0, order);
  op.define(order, op.add("Gelu", {x}, op.shape_of(x),
                          {{"approximate", std::string(by_tanh ? "tanh" : "none")}}));
}

/// The real values of a constant that is stored with fewer bits, if they are float32.
std::optional<Tensor> real_constant(const OperatorImport& op) {
  const FileTensor& from = op.input(0);
  const TensorType& to = op.output().type;
  if (!from.constant || from.wide || op.output().wide || to.quant ||
      to.dtype != DType::kFloat32 || to.shape != from.type.shape) {
    return std::nullopt;
  }
  if (from.type.quant) {
    return dequantize(*from.constant, *from.type.quant);
  }
  return from.type.dtype == DType::kFloat16
             ? std::optional(Tensor::of<float>(to.shape, from.constant->to_float()))
             : std::nullopt;
}

/// QUANTIZE and DEQUANTIZE: what they convert between is in the types of their tensors. ONNX
/// quantizes to no 32 bits by opset 17, so there the conversion is spelled out.
void convert(OperatorImport& op, std::string_view) {
  if (auto values = real_constant(op)) {
    op.define_constant(*std::move(values));
    return;
  }
  const Order order = op.order_of(0);
  ValueId x = op.value(0, order);
  const Shape shape = op.shape_of(x);
  if (const auto& from = op.input(0).wide) {
    x = op.add("Sub", {op.cast(x, DType::kFloat32), zero_point_of(op, *from)}, shape);
    x = op.add("Mul", {x, op.number(from->scale[0])}, shape);
  }
  if (const auto& to = op.output().wide) {
    x = op.add("Div", {op.cast(x, DType::kFloat32), op.number(to->scale[0])}, shape);
    x = op.add("Add", {op.add("Round", {x}, shape), zero_point_of(op, *to)}, shape);
  }
  const DType wanted = op.output().type.quant ? DType::kFloat32 : op.output().type.dtype;
  op.define(order, op.cast(x, wanted));
}

/// CAST sees integers as they are stored, whatever they stand for.
void cast(OperatorImport& op, std::string_view) {
  const Order order = op.order_of(0);
  const ValueId x = op.input(0).type.quant ? op.storage(0, order) : op.value(0, order);
  const ValueId y = op.cast(x, op.output().type.dtype);
  if (op.output().type.quant) {
    op.define_storage(order, y);
  } else {
    op.define(order, y);
  }
}

}  // namespace tare::tflite
