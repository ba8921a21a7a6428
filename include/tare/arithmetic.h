#pragma once

#include "tare/tensor.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tare {

// How real numbers become integers, and how integers are added up, rescaled and rounded.

enum class Granularity : std::uint8_t { kPerTensor, kPerAxis };

/// Whether weights, biases and ranges are learned by gradients, for how much of the network at
/// a time.
enum class Reconstruction : std::uint8_t {
  kNone,   ///< they are as they were calibrated
  kLayer,  ///< each layer with weights by itself
  kBlock,  ///< what lies between two values that everything passes through, as residual blocks
};

/// What we want of a quantized value, before any data is observed.
struct QuantSpec {
  DType storage = DType::kInt8;  ///< i8 u8 i16 u16, or i32 of biases
  Granularity granularity = Granularity::kPerTensor;
  int axis = 0;   ///< meaningful when granularity is kPerAxis; not negative
  int block = 0;  ///< as QuantParams::block, where granularity is kPerAxis
  bool symmetric =
      false;  ///< real 0 sits at the middle of the storage range (0, or 128 for u8)
  bool narrow_range = false;  ///< i8 uses [-127,127]; u8 with symmetric uses [1,255]
  bool power_of_two = false;  ///< scales are powers of two: rescaling is a shift
  int bits = 0;               ///< as QuantParams::bits

  friend bool operator==(const QuantSpec&, const QuantSpec&) = default;
};

/// The storage values a spec may use: [-128,127] for i8, [0,255] for u8, or those of that many
/// bits, narrowed by one step at the low end when narrow_range is set.
struct StorageRange {
  std::int64_t low = 0;
  std::int64_t high = 0;
};
StorageRange storage_range(DType storage, bool narrow_range, int bits = 0);

/// What was decided:  expressed = scale[c] * (storage - zero_point[c]).
/// Invariants (checked by `verify`): scale finite and > 0; low <= zero_point <= high of the
/// storage range, so that real 0 is exact; both sizes are 1 (per tensor), the extent of `axis`,
/// or with blocks what the values' shape has elements when `axis` counts blocks in it.
struct QuantParams {
  DType storage = DType::kInt8;  ///< i8 u8 i16 u16, i32 of biases, i32 or i64 of sums
  SharedArray<float> scale{1.0F};
  SharedArray<std::int32_t> zero_point{0};
  std::optional<int> axis;  ///< set exactly when the parameters are per axis
  /// Not 0: so many neighbours along `axis`, at one place of all other axes, share a scale and
  /// a zero point, the last block what is left. Of constants that float operators read.
  int block = 0;
  bool narrow_range = false;  ///< quantize saturates at the narrowed range
  /// Of the storage type that integers use: 4 for [-8,7] in i8 and [0,15] in u8; 0: all.
  int bits = 0;

  bool per_axis() const { return axis.has_value(); }
  StorageRange range() const { return storage_range(storage, narrow_range, bits); }

  friend bool operator==(const QuantParams&, const QuantParams&) = default;
};

/// Whether integers use only a part of what the storage type holds.
inline bool is_part_of_storage(const QuantParams& params) {
  return params.narrow_range || params.bits != 0;
}

/// An interval of real values that the storage type shall span.
struct Range {
  double low = 0;
  double high = 0;

  friend bool operator==(const Range&, const Range&) = default;
};

/// The one place where ranges become scales and zero points: the affine scheme of Jacob et al.,
/// Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
/// Inference, 2018, section 2.1; docs/quantization_math.md has the formulas. `ranges` holds one
/// range, or one per channel of spec.axis, or one per block in row-major order. Each range is
/// first widened to hold 0. Symmetric: scale is max(|low|, |high|) over the storage steps on
/// the side that has fewer. Asymmetric: scale spans the range exactly, the zero point is
/// rounded half to even and the scale is then widened where rounding it would have cut an end
/// of the range off. Power of two: the scale is the least one at which some zero point lets the
/// range in, and the zero point the nearest to that rounded one. A range of width 0, or one so
/// narrow that its scale would be below 2^-126 (the smallest normal float), gets scale 1 and
/// its zero point. A channel or block below 1e-6 of the widest one is dead and gets the widest
/// one's range. Throws Error(kInternal) on a non-finite or reversed range.
QuantParams to_quant_params(const std::vector<Range>& ranges, const QuantSpec&);

/// ONNX QuantizeLinear: clip(round_half_even(x / scale) + zero_point), division in float32, NaN
/// becomes the zero point. Result has params.storage and the shape of x.
Tensor quantize(const Tensor& x, const QuantParams&);
/// ONNX DequantizeLinear: scale * (q - zero_point) in float32.
Tensor dequantize(const Tensor& q, const QuantParams&);

/// "u8 q(0.0235, 114)" without the dtype: "q(0.0235, 114)", "q(axis=0, [0.1,0.2], [0,0])" or
/// "q(axis=0, block=32, [0.1,0.2], [0,0])".
std::string to_string(const QuantParams&);

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

/// value * factor, rounded as `rounding` (not kHalfEven) says; saturates at the ends of int32.
std::int32_t rescale(std::int32_t value, FixedPointFactor, RequantizeRounding);

/// What becomes of a sum that does not fit.
enum class Overflow : std::uint8_t {
  kSaturate,  ///< the end of the range that it would have left
  kWrap,      ///< what its lowest bits say: two's complement
};

/// The register of two's complement in which a sum of products is added up.
///
/// It starts at the bias, and takes the products (q_x - z_x) * (q_w - z_w) one by one, in
/// row-major order of the weights of one result: by input channel, then by kernel position.
/// Padding adds nothing. The bias and every sum after it are brought back into range. Where
/// sums wrap, the order makes no difference; where they saturate, it does.
///
/// Conv, ConvTranspose, Gemm and MatMul have it in their attributes `accumulator_bits` and
/// `accumulator_overflow` (saturate, wrap), in simulated and integer graphs alike. Without them
/// a sum has the bits of its type: i32 holds 33,000 products of 8-bit values; where a factor
/// has 16 bits it is i64.
struct Accumulator {
  int bits = 32;  ///< 8 to 32
  Overflow overflow = Overflow::kSaturate;

  std::int64_t low() const { return -(std::int64_t{1} << (bits - 1)); }
  std::int64_t high() const { return (std::int64_t{1} << (bits - 1)) - 1; }
  /// The sum, brought back into range.
  std::int64_t hold(std::int64_t sum) const;

  friend bool operator==(const Accumulator&, const Accumulator&) = default;
};

/// How one sum of products is added up, and how storage values are made of it.
struct SumArithmetic {
  Accumulator accumulator;
  RequantizeMode requantize;

  friend bool operator==(const SumArithmetic&, const SumArithmetic&) = default;
};

/// How the sums of products of a network are added up and rescaled.
struct NetworkArithmetic {
  SumArithmetic usual;
  std::map<std::string, SumArithmetic, std::less<>> layers;  ///< by node, where it is another

  const SumArithmetic& of(std::string_view node) const;
  friend bool operator==(const NetworkArithmetic&, const NetworkArithmetic&) = default;
};

/// Bounds of partial sums.
struct SumRange {
  std::int64_t low = 0;  ///< at most 0, since nothing may have been added yet
  std::int64_t high = 0;

  /// A term that may be anything from `least` to `most`.
  void add(std::int64_t least, std::int64_t most);
  /// The fewest that a two's complement register of these sums can have.
  int bits() const;
  bool fits(const Accumulator& held) const { return low >= held.low() && high <= held.high(); }

  friend bool operator==(const SumRange&, const SumRange&) = default;
};

/// The sum of any number of doubles, exact for multiples of 2^-224 and independent of their
/// order and grouping: a fixed-point number of 512 bits (Kulisch and Miranker, "The arithmetic
/// of the digital computer: a new approach", 1986). Finer parts of an addend are cut off
/// towards zero. Sums below 2^286 in magnitude fit, which sums of squares of floats do while
/// there are fewer than 2^30 of the largest.
class ExactSum {
 public:
  /// `x` must be finite.
  void add(double x);
  void add(const ExactSum&);
  /// The sum, rounded towards zero to 53 bits or better.
  double value() const;

  friend bool operator==(const ExactSum&, const ExactSum&) = default;

  static constexpr std::size_t kWords = 8;
  /// Two's complement, least significant word first.
  using Words = std::array<std::uint64_t, kWords>;
  const Words& words() const { return words_; }
  static ExactSum of(const Words&);

 private:
  Words words_{};
};

/// Whose arithmetic operators on storage values follow, where engines round differently. Nodes
/// of an integer graph have it in their attribute `numerics`, those of another arithmetic than
/// ONNX Runtime's; Requantize says in attributes of its own how it rounds. docs/tflite.md has
/// the operators of each.
enum class Numerics : std::uint8_t {
  kOnnxRuntime,   ///< ONNX's, but sums and products of bytes add the zero point, then round
  kOnnx,          ///< rounds once, halves to even
  kTvmUpward,     ///< TVM, rounding "UPWARD"
  kTvmToNearest,  ///< TVM, rounding "TONEAREST"
  kTfliteRef,     ///< reference kernels of TensorFlow Lite, as in its port for microcontrollers
  kTfliteBuiltin,  ///< optimized kernels of TensorFlow Lite
  kTfliteXnn,      ///< XNNPACK, which TensorFlow Lite runs unless told otherwise
};

/// "onnxruntime", "onnx", "tvm_upward", "tvm_tonearest", "tflite_ref", "tflite_builtin",
/// "tflite_xnn".
std::string_view name_of(Numerics);
std::vector<std::string> numerics_names();
/// Throws Error(kInvalidConfig) for a name that is not in the list above.
Numerics numerics_from_name(std::string_view);

}  // namespace tare
