// ReduceMean and ReduceSum of storage values in integers, as TensorFlow Lite's kernels compute
// it.
//
// Kernels divide at different places, and each rounding here is at the place where the kernel
// that TensorFlow Lite would run has it. Sums are in int64 and exact.
#include "execute/elements/dispatch.h"
#include "execute/elements/reduction.h"
#include "execute/elements/rounding.h"
#include "graph/arithmetic/node_arithmetic.h"
#include "graph/arithmetic/rescale.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <optional>

namespace tare {
namespace {

/// From the sum of `each` storage values to their mean, or their real sum, in steps of the
/// result, without its zero point.
using Finish = std::function<std::int64_t(std::int64_t sum)>;

struct MeanRequest {
  const QuantParams& from;
  const QuantParams& to;
  std::int64_t each;
};

/// The factor of the scales with the division by the count in its significand.
Finish reference_mean(const MeanRequest& r) {
  FixedPointFactor factor = fixed_point_factor(static_cast<double>(r.from.scale[0]) /
                                               static_cast<double>(r.to.scale[0]));
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(r.each))) - 1;
  const int left = std::min({bits, 32, 31 + factor.exponent});
  if (left < 0) {
    return nullptr;
  }
  factor.significand =
      static_cast<std::int32_t>((std::int64_t{factor.significand} << left) / r.each);
  factor.exponent -= left;
  const std::int64_t zero = r.from.zero_point[0] * r.each;
  const std::int64_t zero_to = r.to.zero_point[0];
  return
      [=](std::int64_t sum) { return rescale_twice(saturated(sum - zero), factor) + zero_to; };
}

/// Of whole images with their axes kept there is a kernel that rounds the zero point on its
/// own.
Finish image_mean(const MeanRequest& r) {
  const float shift =
      static_cast<float>(r.from.zero_point[0]) * r.from.scale[0] / r.to.scale[0];
  const std::int64_t zero = r.to.zero_point[0] - rounded(shift);
  const FixedPointFactor factor = fixed_point_factor(
      static_cast<double>(r.from.scale[0] / (static_cast<float>(r.each) * r.to.scale[0])));
  return [=](std::int64_t sum) { return rescale_twice(saturated(sum), factor) + zero; };
}

/// In float32: what the optimized kernels do with uint8 along other axes.
Finish float_mean(const MeanRequest& r) {
  const float scale = finite_factor(r.from.scale[0] / r.to.scale[0]);
  const float bias = -static_cast<float>(r.from.zero_point[0]) * scale;
  const auto count = static_cast<float>(r.each);
  const std::int64_t zero = r.to.zero_point[0];
  return [=](std::int64_t sum) {
    return rounded(static_cast<float>(sum) / count * scale + bias) + zero;
  };
}

/// XNNPACK: one factor in float32, halves to even.
Finish xnn_mean(const MeanRequest& r) {
  const float factor =
      finite_factor(r.from.scale[0] / (r.to.scale[0] * static_cast<float>(r.each)));
  const std::int64_t zero = r.from.zero_point[0] * r.each;
  const std::int64_t zero_to = r.to.zero_point[0];
  return [=](std::int64_t sum) {
    return std::llrint(std::clamp(static_cast<float>(sum - zero) * factor, -0x1p40F, 0x1p40F)) +
           zero_to;
  };
}

/// As the mean, and nothing is divided.
Finish reference_sum(const MeanRequest& r) {
  const FixedPointFactor factor = fixed_point_factor(static_cast<double>(r.from.scale[0]) /
                                                     static_cast<double>(r.to.scale[0]));
  const std::int64_t zero = r.from.zero_point[0] * r.each;
  const std::int64_t zero_to = r.to.zero_point[0];
  return
      [=](std::int64_t sum) { return rescale_twice(saturated(sum - zero), factor) + zero_to; };
}

/// In float32: all optimized kernels, XNNPACK has none.
Finish float_sum(const MeanRequest& r) {
  const float scale = finite_factor(r.from.scale[0] / r.to.scale[0]);
  const float bias =
      -static_cast<float>(r.from.zero_point[0]) * scale * static_cast<float>(r.each);
  const std::int64_t zero = r.to.zero_point[0];
  return
      [=](std::int64_t sum) { return rounded(static_cast<float>(sum) * scale + bias) + zero; };
}

bool keeps_whole_images(const KernelRequest& request) {
  const Shape& x = request.inputs[0].shape();
  const Shape& y = request.outputs[0].shape();
  return x.size() == 4 && (y == Shape{x[0], x[1], 1, 1} || y == Shape{x[0], 1, 1, x[3]});
}

Finish finish_of(const KernelRequest& request, const MeanRequest& r) {
  const Numerics by = numerics(request.attributes());
  if (request.node->op == "ReduceSum") {
    return by == Numerics::kTfliteRef ? reference_sum(r) : float_sum(r);
  }
  switch (by) {
    case Numerics::kTfliteXnn:
      return xnn_mean(r);
    case Numerics::kTfliteBuiltin:
      return keeps_whole_images(request)      ? image_mean(r)
             : r.from.storage == DType::kInt8 ? reference_mean(r)
                                              : float_mean(r);
    default:
      return reference_mean(r);
  }
}

template <class T>
std::unique_ptr<Kernel> make_for(const Reduction& plan, const Finish& finish,
                                 const StorageRange& range) {
  const auto run = [=](const Buffers& buffers) {
    auto* sums = reinterpret_cast<std::int64_t*>(buffers.scratch);
    const auto plus = [](std::int64_t a, std::int64_t b) { return a + b; };
    accumulate(plan, input<T>(buffers, 0), sums, std::int64_t{0}, plus, plus);
    std::transform(sums, sums + plan.results, output<T>(buffers, 0), [&](std::int64_t sum) {
      return static_cast<T>(std::clamp(finish(sum), range.low, range.high));
    });
  };
  return make_kernel(run, plan.results * sizeof(std::int64_t));
}

std::unique_ptr<Kernel> make_integer_mean(const KernelRequest& request) {
  const auto& from = required(request, 0).type->quant;
  const auto& to = request.outputs[0].type->quant;
  if (!from || !to || from->per_axis() || to->per_axis() || from->storage != to->storage) {
    return nullptr;
  }
  const Reduction plan = make_reduction(request);
  const Finish finish = plan.each < 1 ? nullptr : finish_of(request, {*from, *to, plan.each});
  if (finish == nullptr) {
    return nullptr;
  }
  return dispatch(Types<std::int8_t, std::uint8_t>{}, from->storage,
                  [&]<class T>(Tag<T>) { return make_for<T>(plan, finish, to->range()); });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(integer_mean) {
  using namespace tare;
  return {.ops = {"ReduceMean", "ReduceSum"},
          .layout = reduction_layout,
          .make = make_integer_mean,
          .for_storage = true,
          .numerics = {Numerics::kTfliteRef, Numerics::kTfliteBuiltin, Numerics::kTfliteXnn}};
}
