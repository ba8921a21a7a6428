#pragma once

#include "tare/quant_table.h"
#include "tare/tensor.h"

#include "reconstruct/adam.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tare {

/// The weights of one constant on their way to integers: each lies between two neighbouring
/// ones, at a place h in [0,1] that is learned (Nagel, Amjad, van Baalen, Louizos and
/// Blankevoort, "Up or Down? Adaptive Rounding for Post-Training Quantization", 2020, section
/// 3.2): h = clip(s(v) (zeta - gamma) + gamma, 0, 1) with the logistic function s, which in
/// contrast to s alone reaches 0 and 1. Their scales are learned too, as logarithms.
class AdaptiveRounding {
 public:
  /// One of the two integers of each weight is that of `start`, which it begins close to:
  /// where h is decided, it is that one.
  AdaptiveRounding(const Tensor& exact, const PointResult& start);

  std::size_t size() const { return v_.size(); }
  /// The real values of the weights [first, end) by scale and h, or by the decided integers.
  void express(std::size_t first, std::size_t end, bool decided,
               std::span<float> weights) const;
  /// A step of the weights [first, end) against the gradient of these values, and against
  /// `pressure` times the sum of 1 - |2 h - 1|^beta, which draws h to 0 and 1.
  void step(std::size_t first, std::size_t end, std::span<const float> gradient, float pressure,
            float beta, float rate);
  void begin_step() { adam_.begin(); }
  /// A step of the scales, whose logarithms move by about `rate`. With `widen_only` none gets
  /// smaller than it was.
  void step_scales(std::span<const float> gradient, bool decided, bool widen_only, float rate);

  /// Writes integers and scales. Of `pairs` that add up to more than `limit` both weights get
  /// their nearest integers.
  void finish(std::span<const std::array<std::size_t, 2>> pairs, int limit, PointResult&) const;

 private:
  float integer(std::size_t i, bool decided) const;

  std::vector<float> exact_;
  std::vector<float> v_;
  std::vector<float> s_;              ///< s(v), which each step needs three times
  std::vector<float> base_;           ///< the lower integer, less the zero point
  std::vector<std::uint32_t> place_;  ///< of each weight's scale
  std::vector<float> zero_;           ///< of each scale
  std::vector<float> first_scales_;
  std::vector<float> logarithms_;  ///< of what scales are now, relative to the first
  std::vector<float> scales_;
  Adam adam_;
  Adam scale_adam_;
};

}  // namespace tare
