// Operators that look at one element, or at one of each operand.
#include "graph/arithmetic/onnx_number.h"
#include "graph/arithmetic/storage_type.h"
#include "tflite/operators.h"

#include <algorithm>
#include <cmath>

namespace tare::tflite {
namespace {

/// The shape of what broadcasts from two shapes of one rank.
Shape common_shape(const OperatorImport& op, const Shape& a, const Shape& b) {
  const std::size_t rank = std::max(a.size(), b.size());
  Shape result(rank, 1);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t of_a = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t of_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (of_a != of_b && of_a != 1 && of_b != 1) {
      op.refuse("its operands have shapes " + to_string(a) + " and " + to_string(b));
    }
    result[rank - 1 - i] = of_a == 1 ? of_b : of_a;
  }
  return result;
}

struct Operands {
  Order order = Order::kFile;
  ValueId a;
  ValueId b;
  Shape result;
};

Operands broadcast(OperatorImport& op) {
  const std::size_t rank = std::max(op.rank(0), op.rank(1));
  Operands result;
  result.order = rank == kImageRank ? op.common_order() : Order::kFile;
  result.a = op.broadcastable(0, rank, result.order);
  result.b = op.broadcastable(1, rank, result.order);
  op.require_alike({result.a, result.b});
  result.result = common_shape(op, op.shape_of(result.a), op.shape_of(result.b));
  return result;
}

template <class Options>
void arithmetic(OperatorImport& op, const char* onnx) {
  const Operands operands = broadcast(op);
  const ValueId y = op.add(onnx, {operands.a, operands.b}, operands.result);
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
  const Operands operands = broadcast(op);
  op.define(operands.order,
            op.add(std::string(onnx), {operands.a, operands.b}, operands.result));
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
  const Operands operands = broadcast(op);
  op.define(operands.order, op.add("PRelu", {operands.a, operands.b}, operands.result));
}

void gelu(OperatorImport& op, std::string_view) {
  const bool by_tanh = op.options<schema::GeluOptions>().approximate();
  const Order order = op.order_of(0);
  const ValueId x = op.value(0, order);
  op.define(order, op.add("Gelu", {x}, op.shape_of(x),
                          {{"approximate", std::string(by_tanh ? "tanh" : "none")}}));
}

/// QUANTIZE and DEQUANTIZE: what they convert between is in the types of their tensors.
void convert(OperatorImport& op, std::string_view) {
  const Order order = op.order_of(0);
  const ValueId x = op.value(0, order);
  const DType wanted = op.output().type.quant ? DType::kFloat32 : op.output().type.dtype;
  const bool is_same = op.graph().type(x).dtype == wanted;
  if (is_same) {
    op.define(order, x);
  } else {
    cast(op, {});
  }
}

void cast(OperatorImport& op, std::string_view) {
  const Order order = op.order_of(0);
  const ValueId x = op.value(0, order);
  const DType dtype = op.output().type.dtype;
  op.define(order, op.add("Cast", {x}, op.shape_of(x), dtype, {{"to", onnx_number(dtype)}}));
}

}  // namespace tare::tflite
