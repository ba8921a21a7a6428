// LpNormalization: divides by the norm along an axis. Storage values, as TensorFlow Lite
// computes them, by an inverse square root in fixed point.
#include "execute/elements/dispatch.h"
#include "execute/elements/fixed_point_math.h"
#include "execute/operands.h"
#include "graph/arithmetic/node_arithmetic.h"

#include <algorithm>
#include <cmath>

namespace tare {
namespace {

/// Calls f(first element, stride) for every row along the axis.
template <class F>
void for_each_row(const AxisView& view, F&& f) {
  for (std::size_t outer = 0; outer < view.outer; ++outer) {
    for (std::size_t inner = 0; inner < view.inner; ++inner) {
      f(outer * view.extent * view.inner + inner);
    }
  }
}

template <class T>
std::unique_ptr<Kernel> in_float(const AxisView& view, std::int64_t p) {
  return make_kernel([=](const Buffers& buffers) {
    const T* x = input<T>(buffers, 0);
    T* y = output<T>(buffers, 0);
    for_each_row(view, [&](std::size_t at) {
      double norm = 0;
      for (std::size_t i = 0; i < view.extent; ++i) {
        const auto value = static_cast<double>(x[at + i * view.inner]);
        norm += p == 1 ? std::abs(value) : value * value;
      }
      norm = p == 1 ? norm : std::sqrt(norm);
      for (std::size_t i = 0; i < view.extent; ++i) {
        const std::size_t k = at + i * view.inner;
        y[k] = norm == 0 ? T{0} : static_cast<T>(static_cast<double>(x[k]) / norm);
      }
    });
  });
}

/// Results are in steps of 1/128.
template <class Q>
std::unique_ptr<Kernel> in_fixed_point(const AxisView& view, std::int32_t zero) {
  constexpr std::int32_t kMiddle = std::is_signed_v<Q> ? 0 : 128;
  return make_kernel([=](const Buffers& buffers) {
    const Q* x = input<Q>(buffers, 0);
    Q* y = output<Q>(buffers, 0);
    for_each_row(view, [&](std::size_t at) {
      std::int32_t squares = 0;
      for (std::size_t i = 0; i < view.extent; ++i) {
        const std::int32_t value = x[at + i * view.inner] - zero;
        squares += value * value;
      }
      FixedPointFactor factor = inverse_square_root(squares);
      factor.exponent += std::is_signed_v<Q> ? 7 : 0;
      for (std::size_t i = 0; i < view.extent; ++i) {
        const std::size_t k = at + i * view.inner;
        const std::int32_t value = (x[k] - zero) * (std::is_signed_v<Q> ? 1 : 128);
        y[k] = static_cast<Q>(std::clamp<std::int64_t>(
            std::int64_t{rescale_twice(value, factor)} + kMiddle, std::numeric_limits<Q>::min(),
            std::numeric_limits<Q>::max()));
      }
    });
  });
}

std::unique_ptr<Kernel> make_lp_normalization(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const Operand& y = request.outputs[0];
  expect_shape(y, x.shape());
  const std::int64_t p = request.attributes().integer("p", 2);
  if (!uniform(request) || (p != 1 && p != 2)) {
    return nullptr;
  }
  const AxisView view = view_axis(x, axis_of(request, -1, x.shape().size()));
  if (numerics(request.attributes()) == Numerics::kOnnxRuntime) {
    return dispatch(Types<float, double>{}, x.dtype(),
                    [&]<class T>(Tag<T>) { return in_float<T>(view, p); });
  }
  // More squares of 8 bits may not have a sum in int32.
  constexpr std::size_t kMostElements = 33'000;
  const auto& from = x.type->quant;
  const auto& to = y.type->quant;
  if (!from || !to || from->per_axis() || p != 2 || view.extent > kMostElements ||
      to->scale != std::vector{0x1p-7F} ||
      to->zero_point[0] != (to->storage == DType::kInt8 ? 0 : 128)) {
    return nullptr;
  }
  return dispatch(Types<std::int8_t, std::uint8_t>{}, x.dtype(), [&]<class Q>(Tag<Q>) {
    return in_fixed_point<Q>(view, from->zero_point[0]);
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(lp_normalization) {
  using namespace tare;
  return {.ops = {"LpNormalization"},
          .layout = follow,
          .make = make_lp_normalization,
          .numerics = {Numerics::kOnnxRuntime, Numerics::kTfliteRef, Numerics::kTfliteBuiltin,
                       Numerics::kTfliteXnn}};
}
