#pragma once

#include "tare/arithmetic.h"
#include "tare/tensor.h"

#include "base/check.h"

#include <utility>

namespace tare {

/// i8, u8, i16, u16 or i32.
inline bool is_storage_type(DType dtype) {
  return is_integer(dtype) && size_of(dtype) <= 4 && dtype != DType::kUint32;
}

/// What sums of products are held in, see tare::Accumulator: i32 or i64.
inline bool is_sum_type(DType dtype) {
  return dtype == DType::kInt32 || dtype == DType::kInt64;
}

/// Calls f with a value of the storage or sum type, so that a lambda can name it.
template <class F>
auto with_storage(DType storage, F&& f) {
  switch (storage) {
    case DType::kInt8:
      return f(std::int8_t{});
    case DType::kUint8:
      return f(std::uint8_t{});
    case DType::kInt16:
      return f(std::int16_t{});
    case DType::kUint16:
      return f(std::uint16_t{});
    case DType::kInt32:
      return f(std::int32_t{});
    case DType::kInt64:
      return f(std::int64_t{});
    default:
      check(false, "a storage type that is no integer");
      return f(std::int8_t{});
  }
}

/// What the ends of the storage range stand for; parameters per tensor.
inline std::pair<float, float> expressed_ends(const QuantParams& params) {
  const StorageRange range = params.range();
  const auto expressed = [&](std::int64_t storage) {
    return params.scale[0] * static_cast<float>(storage - params.zero_point[0]);
  };
  return {expressed(range.low), expressed(range.high)};
}

}  // namespace tare
