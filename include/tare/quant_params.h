#pragma once

#include "tare/tensor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tare {

enum class Granularity : std::uint8_t { kPerTensor, kPerAxis };

/// What we want of a quantized value, before any data is seen.
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
  std::vector<float> scale{1.0F};
  std::vector<std::int32_t> zero_point{0};
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

}  // namespace tare
