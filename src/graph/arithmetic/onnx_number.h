#pragma once

#include "tare/tensor.h"

#include <cstdint>

namespace tare {

/// How ONNX numbers types of elements, for the attribute `to` of Cast.
constexpr std::int64_t onnx_number(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return 1;
    case DType::kUint8:
      return 2;
    case DType::kInt8:
      return 3;
    case DType::kUint16:
      return 4;
    case DType::kInt16:
      return 5;
    case DType::kInt32:
      return 6;
    case DType::kInt64:
      return 7;
    case DType::kBool:
      return 9;
    case DType::kFloat16:
      return 10;
    case DType::kFloat64:
      return 11;
    case DType::kUint32:
      return 12;
    case DType::kUint64:
      return 13;
    case DType::kBfloat16:
      return 16;
  }
  return 0;
}

}  // namespace tare
