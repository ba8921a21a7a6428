#include "simulate/quantized_constants.h"

#include "tare/quant_table.h"

#include "base/check.h"
#include "graph/arithmetic/per_axis.h"
#include "graph/arithmetic/storage_type.h"

#include <algorithm>
#include <utility>

namespace tare {

Tensor quantized_weight(const Tensor& exact, const PointResult& weight) {
  Tensor nearest = quantize(exact, weight.params);
  if (weight.rounding.empty()) {
    return nearest;
  }
  check(weight.rounding.size() == static_cast<std::size_t>(exact.size()),
        "a weight and its rounding have different sizes");
  const StorageRange range = weight.params.range();
  with_storage(weight.params.storage, [&]<class T>(T) {
    const std::span<T> integers = nearest.mutable_view<T>();
    for (std::size_t i = 0; i < integers.size(); ++i) {
      integers[i] = static_cast<T>(std::clamp(
          static_cast<std::int64_t>(integers[i]) + weight.rounding[i], range.low, range.high));
    }
  });
  return nearest;
}

void centre(Tensor& integers, QuantParams& params) {
  const StorageRange range = storage_range(params.storage, false, 0);
  const auto middle = static_cast<std::int32_t>((range.low + range.high + 1) / 2);
  const bool is_centred = std::all_of(params.zero_point.begin(), params.zero_point.end(),
                                      [middle](std::int32_t zero) { return zero == middle; });
  if (is_centred || params.bits == 0 || params.bits > kCentredBits || params.block != 0) {
    return;
  }
  with_storage(params.storage, [&]<class T>(T) {
    const std::span<T> values = integers.mutable_view<T>();
    for_each_slice(integers.shape(), params.axis, 0,
                   [&](std::size_t place, std::size_t first, std::size_t count) {
                     const std::int32_t shift = middle - params.zero_point[place];
                     for (T& value : values.subspan(first, count)) {
                       value = static_cast<T>(value + shift);
                     }
                   });
  });
  std::ranges::fill(params.zero_point.mutable_view(), middle);
  params.bits = 0;
}

SharedArray<std::int8_t> unless_nearest(SharedArray<std::int8_t> rounding) {
  const bool is_nearest =
      std::all_of(rounding.begin(), rounding.end(), [](std::int8_t step) { return step == 0; });
  return is_nearest ? SharedArray<std::int8_t>() : std::move(rounding);
}

Tensor corrected_bias(const Tensor& bias, const PointResult& accumulator) {
  Tensor result = bias;
  if (!accumulator.bias_correction.empty()) {
    const auto values = result.mutable_view<float>();
    check(values.size() == accumulator.bias_correction.size(),
          "a bias and its correction have different sizes");
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] += accumulator.bias_correction[i];
    }
  }
  return result;
}

}  // namespace tare
