// Sums and products of two 8-bit operands, rounded once. What is computed is what `expressed`
// computes, but in the order of operations of engines, because on a coarse grid many results
// lie halfway between two steps and the last bit decides. ONNX Runtime's QLinearAdd and
// QLinearMul add the zero point before they round. Products as ONNX defines them are those of
// XNNPACK: the product of the integers times one ratio, rounded before the zero point is added.
#include "execute/elements/dispatch.h"
#include "execute/elements/nested_loops.h"
#include "execute/elements/rounding.h"
#include "graph/arithmetic/node_arithmetic.h"

#include <algorithm>
#include <cmath>

namespace tare {
namespace {

const QuantParams& params(const Operand& operand) {
  return *operand.type->quant;
}

bool is_byte(const Operand& operand) {
  return operand && operand.type->quant && !operand.type->quant->per_axis() &&
         (operand.type->quant->storage == DType::kInt8 ||
          operand.type->quant->storage == DType::kUint8);
}

/// Storage values of the result from two numbers of the operands.
template <class T, class F>
std::unique_ptr<Kernel> each(const KernelRequest& request, F value) {
  const auto loops = broadcast_loops(request.outputs[0], request.inputs[0], request.inputs[1]);
  const StorageRange range = params(request.outputs[0]).range();
  const auto low = static_cast<float>(range.low);
  const auto high = static_cast<float>(range.high);
  const auto stored = [=](T a, T b) {
    const float q = value(static_cast<float>(a), static_cast<float>(b));
    return narrowed<T>(std::min(std::max(std::rint(q), low), high));
  };
  return make_kernel([=](const Buffers& buffers) {
    const auto n = static_cast<std::int64_t>(loops.row_length());
    const auto f = stored;  // whose numbers no byte that is written can be
    loops.for_each_row([&](const auto& at) {
      T* y = output<T>(buffers, 0) + at[0];
      const T* a = input<T>(buffers, 0) + at[1];
      const T* b = input<T>(buffers, 1) + at[2];
      if (loops.row_stride(0) == 1 && loops.row_stride(1) == 1 && loops.row_stride(2) == 1) {
        for (std::int64_t i = 0; i < n; ++i) {
          y[i] = f(a[i], b[i]);
        }
        return;
      }
      for (std::int64_t i = 0; i < n; ++i) {
        y[i * loops.row_stride(0)] = f(a[i * loops.row_stride(1)], b[i * loops.row_stride(2)]);
      }
    });
  });
}

template <class T>
std::unique_ptr<Kernel> make_for(const KernelRequest& request) {
  const QuantParams& a = params(request.inputs[0]);
  const QuantParams& b = params(request.inputs[1]);
  const QuantParams& y = params(request.outputs[0]);
  const auto zero_a = static_cast<float>(a.zero_point[0]);
  const auto zero_b = static_cast<float>(b.zero_point[0]);
  const auto zero_y = static_cast<float>(y.zero_point[0]);
  if (request.node->op == "Add") {
    const float ratio_a = finite_factor(a.scale[0] / y.scale[0]);
    const float ratio_b = finite_factor(b.scale[0] / y.scale[0]);
    const float fixed = zero_y - (ratio_a * zero_a + ratio_b * zero_b);
    return each<T>(request, [=](float u, float v) {
      return std::fma(u, ratio_a, std::fma(v, ratio_b, fixed));
    });
  }
  const float ratio = finite_factor(a.scale[0] * b.scale[0] / y.scale[0]);
  if (numerics(request.attributes()) == Numerics::kOnnxRuntime) {
    return each<T>(request, [=](float u, float v) {
      return (u - zero_a) * (v - zero_b) * ratio + zero_y;
    });
  }
  return each<T>(request, [=](float u, float v) {
    return std::rint((u - zero_a) * (v - zero_b) * ratio) + zero_y;
  });
}

std::unique_ptr<Kernel> make_affine_arithmetic(const KernelRequest& request) {
  if (request.inputs.size() != 2 || !is_byte(request.inputs[0]) ||
      !is_byte(request.inputs[1]) || !is_byte(request.outputs[0])) {
    return nullptr;
  }
  const DType storage = params(request.outputs[0]).storage;
  const Shape& shape = request.outputs[0].type->shape;
  const bool as_defined = numerics(request.attributes()) == Numerics::kOnnx;
  const bool defined_product = as_defined && request.node->op == "Mul";
  const bool fits =
      (!as_defined || defined_product) &&
      std::all_of(request.inputs.begin(), request.inputs.end(), [&](const Operand& operand) {
        return params(operand).storage == storage &&
               (operand.type->shape == shape || defined_product);
      });
  if (!fits) {
    return nullptr;
  }
  return storage == DType::kInt8 ? make_for<std::int8_t>(request)
                                 : make_for<std::uint8_t>(request);
}

}  // namespace
}  // namespace tare

TARE_KERNEL(affine_arithmetic) {
  using namespace tare;
  return {.ops = {"Add", "Mul"},
          .layout = [](const KernelRequest&) { return LayoutRule::kFollow; },
          .make = make_affine_arithmetic,
          .for_storage = true,
          .numerics = {Numerics::kOnnxRuntime, Numerics::kOnnx}};
}
