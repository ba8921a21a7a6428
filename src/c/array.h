#pragma once

#include "tare/c.h"
#include "tare/tensor.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tare::c {

/// An array in memory of the caller, after it was looked at.
struct Array {
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;
  std::vector<std::int64_t> strides;  ///< bytes
  const std::byte* data = nullptr;
};

/// Throws Error(kInvalidData) for a dtype, rank or extent that there cannot be, and, unless
/// `is_described` only, for elements without memory.
Array array_of(const tare_array&, bool is_described = false);

/// Indices [first, first + count) of axis 0, in row-major order.
void copy_rows(const Array&, std::size_t first, std::size_t count, std::byte* out);

/// Tensors as the caller sees them while both live.
class Views {
 public:
  Views(std::span<const Tensor> tensors, const std::vector<std::string>& names);
  const tare_array* data() const { return arrays_.data(); }
  std::size_t size() const { return arrays_.size(); }

 private:
  std::vector<tare_array> arrays_;
};

}  // namespace tare::c
