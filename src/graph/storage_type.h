#pragma once

#include "tare/tensor.h"

#include "base/check.h"

#include <utility>

namespace tare {

/// i8, u8, i16, u16 or i32.
inline bool is_storage_type(DType dtype) {
  return is_integer(dtype) && size_of(dtype) <= 4 && dtype != DType::kUint32;
}

/// Calls f with a value of the storage type, so that a lambda can name it.
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
    default:
      check(false, "a storage type that is no integer");
      return f(std::int8_t{});
  }
}

}  // namespace tare
