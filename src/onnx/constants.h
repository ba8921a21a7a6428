#pragma once

#include "tare/tensor.h"

#include <cstdint>
#include <vector>

namespace tare {

/// `value` everywhere; of the given floating type, and of f32 when it is none.
Tensor filled(DType, Shape, double value);

template <class T>
Tensor vector_of(const std::vector<T>& values) {
  return Tensor::of({static_cast<std::int64_t>(values.size())}, values);
}

}  // namespace tare
