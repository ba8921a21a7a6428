#pragma once

#include "tflite/row_cases.h"

#include <utility>
#include <vector>

namespace tare::test {

inline Tensor f32(const Shape& shape, const std::vector<float>& values) {
  return Tensor::of<float>(shape, values);
}

inline Tensor i32(const Shape& shape, const std::vector<std::int32_t>& values) {
  return Tensor::of<std::int32_t>(shape, values);
}

inline Tensor flags(const Shape& shape, const std::vector<int>& values) {
  Tensor result(DType::kBool, shape);
  const auto to = result.mutable_view<bool>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    to[i] = values[i] != 0;
  }
  return result;
}

inline RowOperand constant(Tensor values) {
  return {std::move(values), true};
}

inline RowOperand numbers(const std::vector<std::int32_t>& values) {
  return constant(i32({static_cast<std::int64_t>(values.size())}, values));
}

inline RowOperand number(std::int32_t value) {
  return constant(Tensor::scalar(value));
}

/// A state of that shape, of the type of elements that values have.
inline RowOperand state(const Shape& shape) {
  RowOperand result{Tensor(DType::kFloat32, shape)};
  result.variable = true;
  return result;
}

inline RowOperand absent() {
  RowOperand result{Tensor::scalar(0.0F)};
  result.absent = true;
  return result;
}

}  // namespace tare::test
