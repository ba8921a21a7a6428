// Normalizes samples in float32, and looks for what is not finite: one pass each, in vector
// code. Where something is found, another pass says where.
#include "io/normalize.h"

#include "tare/error.h"

#include "base/check.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace tare {
namespace {

template <class T>
void normalize_run(std::span<const T> stored, float mean, float std, float* out) {
  for (std::size_t i = 0; i < stored.size(); ++i) {
    out[i] = (static_cast<float>(stored[i]) - mean) / std;
  }
}

template <class T>
Tensor normalize_all(const Tensor& stored, const Normalization& how) {
  const auto channels = std::max(how.mean.size(), how.std.size());
  const auto batch = static_cast<std::size_t>(stored.shape()[0]);
  const auto from = stored.view<T>();
  const std::size_t run = batch == 0 ? 0 : from.size() / batch / channels;
  Tensor result(DType::kFloat32, stored.shape());
  const auto to = result.mutable_view<float>();
  for (std::size_t i = 0; i < batch * channels; ++i) {
    const std::size_t channel = i % channels;
    normalize_run(from.subspan(i * run, run), how.mean[how.mean.size() == 1 ? 0 : channel],
                  how.std[how.std.size() == 1 ? 0 : channel], to.data() + i * run);
  }
  return result;
}

bool is_finite(float value) {
  return (std::bit_cast<std::uint32_t>(value) & 0x7F800000U) != 0x7F800000U;
}

/// Without an early exit, which would keep the loop from being vectorized.
bool all_finite(std::span<const float> values) {
  std::uint32_t strange = 0;
  for (const float value : values) {
    strange |= is_finite(value) ? 0U : 1U;
  }
  return strange == 0;
}

/// Where element `index` of a tensor of that shape lies.
Shape position(std::size_t index, const Shape& shape) {
  Shape result(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const auto extent = static_cast<std::size_t>(shape[axis]);
    result[axis] = static_cast<std::int64_t>(index % extent);
    index /= extent;
  }
  return result;
}

}  // namespace

Tensor normalize(const Tensor& stored, const Normalization& how) {
  switch (stored.dtype()) {
    case DType::kInt8:
      return normalize_all<std::int8_t>(stored, how);
    case DType::kUint8:
      return normalize_all<std::uint8_t>(stored, how);
    case DType::kInt16:
      return normalize_all<std::int16_t>(stored, how);
    case DType::kUint16:
      return normalize_all<std::uint16_t>(stored, how);
    case DType::kInt32:
      return normalize_all<std::int32_t>(stored, how);
    case DType::kUint32:
      return normalize_all<std::uint32_t>(stored, how);
    case DType::kInt64:
      return normalize_all<std::int64_t>(stored, how);
    case DType::kUint64:
      return normalize_all<std::uint64_t>(stored, how);
    default:
      check(false, "only integers are normalized");
  }
  return {};
}

void require_finite(const Tensor& batch, const std::string& input, std::size_t first) {
  const auto values = batch.view<float>();
  if (all_finite(values)) {
    return;
  }
  std::size_t index = 0;
  while (is_finite(values[index])) {
    ++index;
  }
  const Shape sample(batch.shape().begin() + 1, batch.shape().end());
  const auto elements = static_cast<std::size_t>(element_count(sample));
  const std::string found = std::isnan(values[index]) ? "NaN"
                            : values[index] > 0       ? "infinity"
                                                      : "-infinity";
  throw Error(ErrorCode::kInvalidData, "input '" + input + "'",
              found + " at sample " + std::to_string(first + index / elements) + ", " +
                  to_string(position(index % elements, sample)));
}

}  // namespace tare
