#include "reconstruct/adaround.h"

#include "graph/arithmetic/per_axis.h"
#include "simulate/quantized_constants.h"

#include <algorithm>
#include <cmath>

namespace tare {
namespace {

constexpr float kZeta = 1.1F;
constexpr float kGamma = -0.1F;
/// How far h begins from the exact place of a weight towards the integer it is given. From more
/// than half of the way on it is on the side of that one, wherever the weight lies.
constexpr float kTrust = 0.6F;

float logistic(float v) {
  return 1 / (1 + std::exp(-v));
}
float place(float s) {
  return std::clamp(s * (kZeta - kGamma) + kGamma, 0.0F, 1.0F);
}

/// The v for which place(s(v)) is h, a little inside of the ends.
float place_inverse(float h) {
  const float s = (std::clamp(h, 0.01F, 0.99F) - kGamma) / (kZeta - kGamma);
  return std::log(s / (1 - s));
}

}  // namespace

AdaptiveRounding::AdaptiveRounding(const Tensor& exact, const PointResult& start)
    : exact_(exact.to_float()),
      v_(exact_.size()),
      s_(exact_.size()),
      base_(exact_.size()),
      place_(exact_.size()),
      zero_(start.params.zero_point.begin(), start.params.zero_point.end()),
      first_scales_(start.params.scale.to_vector()),
      logarithms_(first_scales_.size()),
      scales_(first_scales_),
      adam_(exact_.size()),
      scale_adam_(first_scales_.size()) {
  const std::vector<float> chosen = quantized_weight(exact, start).to_float();
  const QuantParams& params = start.params;
  const auto low = static_cast<float>(params.range().low);
  const auto high = static_cast<float>(params.range().high);
  for_each_slice(exact.shape(), params.axis, params.block,
                 [&](std::size_t scale, std::size_t first, std::size_t count) {
                   for (std::size_t i = first; i < first + count; ++i) {
                     place_[i] = static_cast<std::uint32_t>(scale);
                     const float real = exact_[i] / scales_[scale] + zero_[scale];
                     float base = std::clamp(std::floor(real), low, high - 1);
                     if (chosen[i] < base) {
                       base = chosen[i];
                     } else if (chosen[i] > base + 1) {
                       base = chosen[i] - 1;
                     }
                     const float own = std::clamp(real - base, 0.0F, 1.0F);
                     base_[i] = base - zero_[scale];
                     v_[i] = place_inverse(kTrust * (chosen[i] - base) + (1 - kTrust) * own);
                     s_[i] = logistic(v_[i]);
                   }
                 });
}

float AdaptiveRounding::integer(std::size_t i, bool decided) const {
  const float h = place(s_[i]);
  return base_[i] + (!decided ? h : h >= 0.5F ? 1.0F : 0.0F);
}

void AdaptiveRounding::express(std::size_t first, std::size_t end, bool decided,
                               std::span<float> weights) const {
  for (std::size_t i = first; i < end; ++i) {
    weights[i] = integer(i, decided) * scales_[place_[i]];
  }
}

void AdaptiveRounding::step(std::size_t first, std::size_t end, std::span<const float> gradient,
                            float pressure, float beta, float rate) {
  for (std::size_t i = first; i < end; ++i) {
    const float s = s_[i];
    const float h = s * (kZeta - kGamma) + kGamma;
    float of_v = 0;  // nothing passes the clip
    if (h > 0 && h < 1) {
      const float side = 2 * h - 1;
      const float bend = std::pow(std::abs(side), beta - 1);
      const float of_h =
          gradient[i] * scales_[place_[i]] - pressure * 2 * beta * (side < 0 ? -bend : bend);
      of_v = of_h * s * (1 - s) * (kZeta - kGamma);
    }
    adam_.update(i, of_v, rate, v_[i]);
    s_[i] = logistic(v_[i]);
  }
}

void AdaptiveRounding::step_scales(std::span<const float> gradient, bool decided,
                                   bool widen_only, float rate) {
  std::vector<double> sums(scales_.size());
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    sums[place_[i]] += static_cast<double>(gradient[i] * integer(i, decided));
  }
  scale_adam_.begin();
  for (std::size_t k = 0; k < sums.size(); ++k) {
    const double of_logarithm = sums[k] * static_cast<double>(scales_[k]);
    scale_adam_.update(k, static_cast<float>(of_logarithm), rate, logarithms_[k]);
    if (widen_only) {
      logarithms_[k] = std::max(0.0F, logarithms_[k]);
    }
    scales_[k] = first_scales_[k] * std::exp(logarithms_[k]);
  }
}

void AdaptiveRounding::finish(std::span<const std::array<std::size_t, 2>> pairs, int limit,
                              PointResult& result) const {
  result.params.scale = scales_;
  std::vector<std::int8_t> rounding(size());
  const auto low = static_cast<float>(result.params.range().low);
  const auto high = static_cast<float>(result.params.range().high);
  for (std::size_t i = 0; i < size(); ++i) {
    const float zero = zero_[place_[i]];
    const float real = exact_[i] / scales_[place_[i]] + zero;
    const float nearest = std::clamp(std::nearbyint(real), low, high);
    const float off = integer(i, true) + zero - nearest;  // far where the scale has moved
    rounding[i] = static_cast<std::int8_t>(std::clamp(off, -127.0F, 127.0F));
  }
  for (const auto& [a, b] : pairs) {
    if (std::abs(integer(a, true) + integer(b, true)) > static_cast<float>(limit)) {
      rounding[a] = 0;
      rounding[b] = 0;
    }
  }
  result.rounding = unless_nearest(rounding);
}

}  // namespace tare
