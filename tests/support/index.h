#pragma once

#include "tare/tensor.h"

#include <cstddef>
#include <cstdint>

namespace tare::test {

/// Calls f(index) for every index of `shape`, row-major.
template <class F>
void for_each_index(const Shape& shape, F&& f) {
  Shape index(shape.size(), 0);
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    f(index);
    for (std::size_t axis = shape.size(); axis-- > 0 && ++index[axis] == shape[axis];) {
      index[axis] = 0;
    }
  }
}

/// Of an element in the row-major order of `shape`.
inline std::size_t offset(const Shape& shape, const Shape& index) {
  std::int64_t result = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    result = result * shape[axis] + index[axis];
  }
  return static_cast<std::size_t>(result);
}

}  // namespace tare::test
