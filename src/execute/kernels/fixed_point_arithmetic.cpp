// Add, Sub and Mul of storage values in integers, as engines other than ONNX Runtime round
// them.
#include "execute/elements/dispatch.h"
#include "execute/elements/nested_loops.h"
#include "execute/elements/rounding.h"
#include "graph/arithmetic/node_arithmetic.h"
#include "graph/arithmetic/rescale.h"
#include "graph/arithmetic/storage_type.h"

#include <algorithm>
#include <cmath>

namespace tare {
namespace {

using Rescale = std::int32_t (*)(std::int32_t, FixedPointFactor);

struct BinaryRequest {
  const KernelRequest& request;
  const QuantParams& a;
  const QuantParams& b;
  const QuantParams& y;
  Numerics numerics;

  bool is_tvm() const {
    return numerics == Numerics::kTvmUpward || numerics == Numerics::kTvmToNearest;
  }
  const std::string& op() const { return request.node->op; }
  float largest_scale() const { return std::max(a.scale[0], b.scale[0]); }
};

/// Storage values of the result from those of both operands, in int32 and without bounds.
template <class Q, class F>
std::unique_ptr<Kernel> each(const BinaryRequest& r, F f) {
  const Operand& y = r.request.outputs[0];
  const auto loops = broadcast_loops(y, r.request.inputs[0], r.request.inputs[1]);
  const std::int32_t zero_a = r.a.zero_point[0];
  const std::int32_t zero_b = r.b.zero_point[0];
  const std::int64_t zero_y = r.y.zero_point[0];
  const StorageRange range = r.y.range();
  return make_kernel([=](const Buffers& buffers) {
    const Q* a = input<Q>(buffers, 0);
    const Q* b = input<Q>(buffers, 1);
    Q* result = output<Q>(buffers, 0);
    const auto n = static_cast<std::int64_t>(loops.row_length());
    loops.for_each_row([&](const auto& at) {
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t value = f(a[at[1] + i * loops.row_stride(1)] - zero_a,
                                     b[at[2] + i * loops.row_stride(2)] - zero_b);
        result[at[0] + i * loops.row_stride(0)] =
            static_cast<Q>(std::clamp(value + zero_y, range.low, range.high));
      }
    });
  });
}

FixedPointFactor ratio(double numerator, double denominator) {
  return fixed_point_factor(numerator / denominator);
}

/// TensorFlow Lite: both operands at twice the larger scale, with some bits behind the point,
/// then one more rounding.
template <class Q>
std::unique_ptr<Kernel> tflite_sum(const BinaryRequest& r) {
  constexpr int kBits = sizeof(Q) == 1 ? 20 : 15;
  const double common = 2.0 * static_cast<double>(r.largest_scale());
  const FixedPointFactor of_a = ratio(static_cast<double>(r.a.scale[0]), common);
  const FixedPointFactor of_b = ratio(static_cast<double>(r.b.scale[0]), common);
  const FixedPointFactor of_y =
      ratio(common, static_cast<double>((1 << kBits)) * static_cast<double>(r.y.scale[0]));
  const int sign = r.op() == "Sub" ? -1 : 1;
  return each<Q>(r, [=](std::int32_t a, std::int32_t b) {
    const std::int32_t sum =
        rescale_twice(a * (1 << kBits), of_a) + sign * rescale_twice(b * (1 << kBits), of_b);
    return std::int64_t{rescale_twice(sum, of_y)};
  });
}

/// XNNPACK: integer factors of 21 bits, rounded with the sum. It takes bytes whose scales are
/// not too far apart.
template <class Q>
std::unique_ptr<Kernel> xnn_sum(const BinaryRequest& r) {
  const float ratio_a = r.a.scale[0] / r.y.scale[0];
  const float ratio_b = r.b.scale[0] / r.y.scale[0];
  const float larger = std::max(ratio_a, ratio_b);
  const auto is_near = [](float of) { return of >= 0x1p-10F && of < 0x1p8F; };
  if (sizeof(Q) != 1 || !is_near(ratio_a) || !is_near(ratio_b)) {
    return tflite_sum<Q>(r);
  }
  const int right = 20 - std::ilogb(larger);
  const auto factor = [&](float of) {
    return static_cast<std::int64_t>(std::lrint(std::ldexp(of, right)));
  };
  const std::int64_t of_a = factor(ratio_a);
  const std::int64_t of_b = (r.op() == "Sub" ? -1 : 1) * factor(ratio_b);
  return each<Q>(r, [=](std::int32_t a, std::int32_t b) {
    return (a * of_a + b * of_b + (std::int64_t{1} << (right - 1))) >> right;
  });
}

/// TVM: each operand rounded to the result's steps first.
template <class Q>
std::unique_ptr<Kernel> tvm_sum(const BinaryRequest& r, Rescale rescale) {
  const auto scale_y = static_cast<double>(r.y.scale[0]);
  const FixedPointFactor of_a = ratio(static_cast<double>(r.a.scale[0]), scale_y);
  const FixedPointFactor of_b = ratio(static_cast<double>(r.b.scale[0]), scale_y);
  const int sign = r.op() == "Sub" ? -1 : 1;
  return each<Q>(r, [=](std::int32_t a, std::int32_t b) {
    return std::int64_t{rescale(a, of_a)} + sign * std::int64_t{rescale(b, of_b)};
  });
}

template <class Q>
std::unique_ptr<Kernel> product(const BinaryRequest& r, Rescale rescale) {
  const float scale = r.a.scale[0] * r.b.scale[0];
  const auto scale_y = static_cast<double>(r.y.scale[0]);
  // The port for microcontrollers multiplies and divides scales in double, TVM multiplies in
  // float32, and the others do both there.
  double factor = static_cast<double>(scale / r.y.scale[0]);
  if (r.numerics == Numerics::kTfliteRef) {
    factor = static_cast<double>(r.a.scale[0]) * static_cast<double>(r.b.scale[0]) / scale_y;
  } else if (r.is_tvm()) {
    factor = static_cast<double>(scale) / scale_y;
  }
  return each<Q>(r, [=, fixed = fixed_point_factor(factor)](std::int32_t a, std::int32_t b) {
    return std::int64_t{rescale(a * b, fixed)};
  });
}

template <class Q>
std::unique_ptr<Kernel> xnn_product(const BinaryRequest& r) {
  const float factor = r.a.scale[0] * r.b.scale[0] / r.y.scale[0];
  if (sizeof(Q) != 1 || !(factor >= 0x1p-16F && factor < 0x1p8F)) {
    return product<Q>(r, rescale_twice);
  }
  return each<Q>(r, [=](std::int32_t a, std::int32_t b) {
    return static_cast<std::int64_t>(std::rint(static_cast<float>(a * b) * factor));
  });
}

template <class Q>
std::unique_ptr<Kernel> make_for(const BinaryRequest& r) {
  const bool multiplies = r.op() == "Mul";
  switch (r.numerics) {
    case Numerics::kTfliteXnn:
      return multiplies ? xnn_product<Q>(r) : xnn_sum<Q>(r);
    case Numerics::kTvmUpward:
      return multiplies ? product<Q>(r, rescale_once<false>)
                        : tvm_sum<Q>(r, rescale_once<false>);
    case Numerics::kTvmToNearest:
      return multiplies ? product<Q>(r, rescale_once<true>) : tvm_sum<Q>(r, rescale_once<true>);
    default:
      return multiplies ? product<Q>(r, rescale_twice) : tflite_sum<Q>(r);
  }
}

std::unique_ptr<Kernel> make_fixed_point_arithmetic(const KernelRequest& request) {
  const auto is_stored = [&](const Operand& operand) {
    return operand && operand.type->quant && !operand.type->quant->per_axis() &&
           operand.dtype() == request.outputs[0].dtype();
  };
  if (request.inputs.size() != 2 || !is_stored(request.inputs[0]) ||
      !is_stored(request.inputs[1]) || !is_stored(request.outputs[0])) {
    return nullptr;
  }
  const BinaryRequest r{request, *request.inputs[0].type->quant, *request.inputs[1].type->quant,
                        *request.outputs[0].type->quant, numerics(request.attributes())};
  return dispatch(Types<std::int8_t, std::uint8_t, std::int16_t>{}, request.outputs[0].dtype(),
                  [&]<class Q>(Tag<Q>) { return make_for<Q>(r); });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(fixed_point_arithmetic) {
  using namespace tare;
  return {.ops = {"Add", "Mul", "Sub"},
          .layout = [](const KernelRequest&) { return LayoutRule::kFollow; },
          .make = make_fixed_point_arithmetic,
          .for_storage = true,
          .numerics = {Numerics::kTvmUpward, Numerics::kTvmToNearest, Numerics::kTfliteRef,
                       Numerics::kTfliteBuiltin, Numerics::kTfliteXnn}};
}
