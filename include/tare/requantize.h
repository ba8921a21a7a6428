#pragma once

#include "tare/graph.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tare {

/// Which neighbour a rescaled value goes to. Engines differ here, by one step at most each
/// time.
enum class RequantizeRounding : std::uint8_t {
  kHalfEven,      ///< halves to the even neighbour: ONNX
  kUpward,        ///< halves towards +infinity: TVM "UPWARD"
  kToNearest,     ///< halves away from zero: TVM "TONEAREST"
  kTfliteDouble,  ///< twice: a high product whose halves go up, then a shift whose halves go
                  ///< away from zero: TensorFlow Lite, gemmlowp
  kTfliteSingle,  ///< once, halves towards +infinity: TensorFlow Lite with single rounding
  kShift,  ///< halves towards +infinity, by a shift alone; scales differ by a power of two
};

/// What the product with the ratio of two scales is computed in.
enum class RequantizeArithmetic : std::uint8_t {
  kFloat,       ///< float32; accumulators above 2^24 are rounded on the way
  kFixedPoint,  ///< int32 * int32 -> int64, and a shift
};

/// The semantics of one Requantize node, in its attributes `rounding` (half_even, upward,
/// to_nearest, tflite_double, tflite_single, shift) and `arithmetic` (float, fixed_point).
/// half_even is in float; tflite_double, tflite_single and shift are in fixed point; the others
/// are in either, fixed point unless said.
struct RequantizeMode {
  RequantizeRounding rounding = RequantizeRounding::kHalfEven;
  RequantizeArithmetic arithmetic = RequantizeArithmetic::kFloat;

  friend bool operator==(const RequantizeMode&, const RequantizeMode&) = default;
};

/// That rounding in that arithmetic, or in the usual one.
RequantizeMode requantize_mode(RequantizeRounding,
                               std::optional<RequantizeArithmetic> = std::nullopt);
bool is_defined(const RequantizeMode&);

/// Throws Error(kInvalidModel) for other words, and for pairs that do not go together.
RequantizeMode requantize_mode(const Attributes&);
Attributes to_attributes(const RequantizeMode&);

/// A positive factor as `significand * 2^(exponent - 31)`, with 2^30 <= significand < 2^31;
/// both 0 for the factor 0. (Jacob et al., Quantization and Training of Neural Networks for
/// Efficient Integer-Arithmetic-Only Inference, 2018, section 2.2.)
struct FixedPointFactor {
  std::int32_t significand = 0;
  int exponent = 0;

  friend bool operator==(const FixedPointFactor&, const FixedPointFactor&) = default;
};

/// The nearest one to a factor that is not negative. It may be infinite, as quotients of scales
/// are, and is the largest double then: what is not 0 saturates either way.
/// (QuantizeMultiplier of TensorFlow Lite, without its limits for very small and very large
/// factors.)
FixedPointFactor fixed_point_factor(double factor);

/// A Requantize in fixed point may state its factors, one for each scale of its operand, in the
/// attributes `significand` and `exponent`: engines derive them from other products of scales
/// than the type of accumulators holds. Empty where it does not. Throws Error(kInvalidModel)
/// for numbers that are no factors.
std::vector<FixedPointFactor> fixed_point_factors(const Attributes&);
void set_fixed_point_factors(Attributes&, const std::vector<FixedPointFactor>&);

/// value * factor, rounded as `rounding` (not kHalfEven) says; saturates at the ends of int32.
std::int32_t rescale(std::int32_t value, FixedPointFactor, RequantizeRounding);

}  // namespace tare
