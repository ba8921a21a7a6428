#pragma once

#include "tare/tensor.h"

#include <algorithm>

namespace tare::test {

inline Tensor ones(Shape shape) {
  Tensor result(DType::kFloat32, std::move(shape));
  std::ranges::fill(result.mutable_view<float>(), 1.0F);
  return result;
}

}  // namespace tare::test
