#pragma once

#include "execute/products/convolution.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace tare::onednn {

/// How sums become storage values: rint(sum * factor) + zero point, kept within `range`.
struct SumRounding {
  std::vector<float> factors;  ///< one, or one for each channel
  std::int32_t zero_point = 0;
  StorageRange range;
};

/// A convolution of bytes.
struct IntegerConvolution {
  Convolution shape;               ///< its constant weights are storage values
  QuantParams weights;             ///< i8 or u8; zero points are one, or those of the channels
  QuantParams source;              ///< i8 or u8
  std::vector<std::int32_t> bias;  ///< one for each channel
  DType result = DType::kInt32;    ///< i32: the sums; f32: what post-ops make of them
  std::optional<SumRounding> rounding{};  ///< where the result is i8 or u8
  std::vector<PostOp> post_ops{};         ///< where it is f32
};

/// On processors with VNNI, by kernels of oneDNN that give every bit of the result. Null
/// elsewhere, where some sum to be rounded could leave what float32 holds exactly, and where
/// there is no such kernel. Float results are rounded once or twice where float32 does not hold
/// the sums.
std::unique_ptr<Kernel> make_integer_convolution(const IntegerConvolution&);

}  // namespace tare::onednn
