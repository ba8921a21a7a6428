// Affine quantization, x = s (q - z) (Jacob et al., "Quantization and Training of Neural
// Networks for Efficient Integer-Arithmetic-Only Inference", 2018, section 2.1), with the
// roundings of ONNX's QuantizeLinear and DequantizeLinear. How a range becomes scale and zero
// point is in docs/quantization_math.md: as in that paper, but the scale is widened where
// rounding the zero point would cut off an end. It is computed in double and rounded to float32
// once.

#include "tare/arithmetic.h"
#include "tare/error.h"

#include "base/check.h"
#include "graph/arithmetic/per_axis.h"
#include "graph/arithmetic/power_of_two.h"
#include "graph/arithmetic/range_params.h"
#include "graph/arithmetic/storage_type.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace tare {
namespace {

struct ScaleZeroPoint {
  double scale;
  double zero_point;
};

std::int64_t middle(const StorageRange& storage) {
  // i8: 0 in both ranges; u8: 128 in [0,255] and in [1,255].
  return (storage.low + storage.high + 1) / 2;
}

ScaleZeroPoint symmetric_params(Range range, const StorageRange& storage, bool power_of_two) {
  const std::int64_t zero = middle(storage);
  const double reach = std::max(-range.low, range.high);
  // The shorter side limits a symmetric range: [-128,127] spans 127 steps upward.
  const double exact = reach / static_cast<double>(storage.high - zero);
  return {power_of_two ? power_of_two_from(exact) : exact, static_cast<double>(zero)};
}

/// The least power of two from that scale on at which some zero point lets the range in. Of
/// several zero points the nearest to the given one shares out what is left, and leaves nothing
/// on a side that has no values.
ScaleZeroPoint power_of_two_params(Range range, const StorageRange& storage,
                                   const ScaleZeroPoint& exact) {
  for (double scale = power_of_two_from(exact.scale);; scale *= 2) {
    const double lowest = std::ceil(static_cast<double>(storage.low) - range.low / scale);
    const double highest = std::floor(static_cast<double>(storage.high) - range.high / scale);
    if (lowest <= highest) {
      return {scale, std::clamp(exact.zero_point, lowest, highest)};
    }
  }
}

ScaleZeroPoint asymmetric_params(Range range, const StorageRange& storage, bool power_of_two) {
  const auto low = static_cast<double>(storage.low);
  const auto high = static_cast<double>(storage.high);
  const double exact = (range.high - range.low) / (high - low);
  const double zero = std::clamp(std::nearbyint(low - range.low / exact), low, high);
  if (power_of_two) {
    return power_of_two_params(range, storage, {exact, zero});
  }
  // Rounding the zero point shifts the grid by up to half a step; widen so neither end is cut.
  const double below = zero > low ? -range.low / (zero - low) : 0;
  const double above = zero < high ? range.high / (high - zero) : 0;
  return {std::max({exact, below, above}), zero};
}

}  // namespace

StorageRange storage_range(DType storage, bool narrow_range, int bits) {
  if (!is_storage_type(storage) && !is_sum_type(storage)) {
    throw Error(ErrorCode::kInternal, "",
                std::string(name_of(storage)) + " is no storage type");
  }
  const auto all = static_cast<int>(8 * size_of(storage));
  const int used = bits == 0 ? all : bits;
  const std::int64_t narrowed = narrow_range ? 1 : 0;
  const bool is_signed = storage != DType::kUint8 && storage != DType::kUint16;
  const std::int64_t half = std::numeric_limits<std::int64_t>::max() >> (64 - used);
  return is_signed ? StorageRange{narrowed - half - 1, half}
                   : StorageRange{narrowed, 2 * half + 1};
}

RangeParams range_params(Range range, double widest, const QuantSpec& spec,
                         const StorageRange& storage) {
  // A channel this far below the widest one contributes nothing; a scale made from it would
  // only push the bias, stored at input scale * weight scale, out of int32.
  constexpr double kDeadChannel = 1e-6;
  range = {std::min(range.low, 0.0), std::max(range.high, 0.0)};
  if (std::max(-range.low, range.high) < widest * kDeadChannel) {
    range = {-widest, widest};
  }
  ScaleZeroPoint result = spec.symmetric || range == Range{}
                              ? symmetric_params(range, storage, spec.power_of_two)
                              : asymmetric_params(range, storage, spec.power_of_two);
  if (range == Range{} && !spec.symmetric) {
    result.zero_point =
        static_cast<double>(std::clamp<std::int64_t>(0, storage.low, storage.high));
  }
  const auto scale = static_cast<float>(result.scale);
  const bool usable = scale >= std::numeric_limits<float>::min() && std::isfinite(scale);
  return {usable ? scale : 1, static_cast<std::int32_t>(result.zero_point)};
}

QuantParams to_quant_params(const std::vector<Range>& ranges, const QuantSpec& spec) {
  const StorageRange storage = storage_range(spec.storage, spec.narrow_range, spec.bits);
  QuantParams params{.storage = spec.storage,
                     .scale = {},
                     .zero_point = {},
                     .axis = {},
                     .block = 0,
                     .narrow_range = spec.narrow_range,
                     .bits = spec.bits};
  if (spec.granularity == Granularity::kPerAxis) {
    params.axis = spec.axis;
    params.block = spec.block;
  }
  std::vector<float> scales;
  std::vector<std::int32_t> zero_points;
  double widest = 0;
  for (const Range& range : ranges) {
    check(std::isfinite(range.low) && std::isfinite(range.high) && range.low <= range.high,
          "a calibrator returned a range that is not finite or is reversed");
    widest = std::max({widest, -range.low, range.high});
  }
  for (const Range& range : ranges) {
    const RangeParams own = range_params(range, widest, spec, storage);
    scales.push_back(own.scale);
    zero_points.push_back(own.zero_point);
  }
  params.scale = scales;
  params.zero_point = zero_points;
  return params;
}

namespace {

/// Calls f(element, scale, zero point) for every element.
template <class F>
void for_each_parameters(const Shape& shape, const QuantParams& params, const F& f) {
  const auto last = static_cast<int>(shape.size()) - 1;
  if (params.axis == last && params.block == 0) {  // row by row: runs would be of one element
    const float* const scales = params.scale.data();
    const std::int32_t* const zeros = params.zero_point.data();
    const auto extent = static_cast<std::size_t>(shape.back());
    const auto total = static_cast<std::size_t>(element_count(shape));
    for (std::size_t first = 0; first < total; first += extent) {
      for (std::size_t i = 0; i < extent; ++i) {
        f(first + i, scales[i], zeros[i]);
      }
    }
    return;
  }
  for_each_slice(shape, params.axis, params.block,
                 [&](std::size_t channel, std::size_t first, std::size_t count) {
                   const float scale = params.scale[channel];
                   const std::int32_t zero = params.zero_point[channel];
                   for (std::size_t i = first; i < first + count; ++i) {
                     f(i, scale, zero);
                   }
                 });
}

template <class T>
Tensor quantized_as(const Tensor& x, const QuantParams& params) {
  Tensor result(params.storage, x.shape());
  const auto in = x.view<float>();
  auto out = result.mutable_view<T>();
  const StorageRange range = params.range();
  const auto low = static_cast<double>(range.low);
  const auto high = static_cast<double>(range.high);
  for_each_parameters(x.shape(), params, [&](std::size_t i, float scale, std::int32_t point) {
    const double zero = point;
    const double q = static_cast<double>(std::nearbyint(in[i] / scale)) + zero;
    out[i] = static_cast<T>(std::isnan(q) ? zero : std::clamp(q, low, high));
  });
  return result;
}

template <class T>
Tensor dequantized_from(const Tensor& q, const QuantParams& params) {
  Tensor result(DType::kFloat32, q.shape());
  const auto in = q.view<T>();
  auto out = result.mutable_view<float>();
  // Of which there are vector instructions; the difference of wider ones may overflow.
  using Difference = std::conditional_t<sizeof(T) <= 2, std::int32_t, std::int64_t>;
  for_each_parameters(q.shape(), params, [&](std::size_t i, float scale, std::int32_t zero) {
    out[i] =
        static_cast<float>(static_cast<Difference>(in[i]) - static_cast<Difference>(zero)) *
        scale;
  });
  return result;
}

}  // namespace

Tensor quantize(const Tensor& x, const QuantParams& params) {
  return with_storage(params.storage,
                      [&](auto tag) { return quantized_as<decltype(tag)>(x, params); });
}

Tensor dequantize(const Tensor& q, const QuantParams& params) {
  return with_storage(params.storage,
                      [&](auto tag) { return dequantized_from<decltype(tag)>(q, params); });
}

}  // namespace tare
