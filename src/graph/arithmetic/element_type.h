#pragma once

#include "tare/error.h"
#include "tare/tensor.h"

#include "graph/arithmetic/half.h"

#include <cstdint>

namespace tare {

/// One f16 element as it lies in memory.
struct HalfElement {
  std::uint16_t bits = 0;
  // Not explicit: reads like the number that it is.
  operator float() const { return half_to_float(bits); }  // NOLINT(google-explicit-constructor)
};

/// One bf16 element as it lies in memory.
struct Bfloat16Element {
  std::uint16_t bits = 0;
  // As above.
  operator float() const {
    return bfloat16_to_float(bits);
  }  // NOLINT(google-explicit-constructor)
};

/// Calls f with a value of the C++ type whose objects lie in a tensor of that type: HalfElement
/// for f16, Bfloat16Element for bf16, bool for bool, the obvious type otherwise.
template <class F>
decltype(auto) with_element_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat32:
      return f(float{});
    case DType::kFloat64:
      return f(double{});
    case DType::kFloat16:
      return f(HalfElement{});
    case DType::kBfloat16:
      return f(Bfloat16Element{});
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
    case DType::kUint32:
      return f(std::uint32_t{});
    case DType::kInt64:
      return f(std::int64_t{});
    case DType::kUint64:
      return f(std::uint64_t{});
    case DType::kBool:
      return f(bool{});
  }
  throw Error(ErrorCode::kInternal, "", "no such element type");
}

}  // namespace tare
