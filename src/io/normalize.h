#pragma once

#include "tare/tensor.h"

#include <cstddef>
#include <string>
#include <vector>

namespace tare {

/// x = (u - mean) / std, in float32. Both lists hold one value, or one per channel (axis 1 of
/// the batch); both are empty when samples are taken as they are stored.
struct Normalization {
  std::vector<float> mean;
  std::vector<float> std;

  explicit operator bool() const { return !mean.empty(); }
};

/// `stored` is of an integer type and has the batch as its first dimension.
Tensor normalize(const Tensor& stored, const Normalization&);

/// Throws Error(kInvalidData), naming sample and position, on the first NaN or infinity.
/// `batch` is f32 and starts with sample number `first`.
void require_finite(const Tensor& batch, const std::string& input, std::size_t first);

}  // namespace tare
