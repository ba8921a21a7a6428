#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>

/// Elementary functions for inner loops. The float versions have no branch and call nothing, so
/// the compiler vectorizes loops over them; and since vector and scalar code then do the very
/// same operations, an element's result depends neither on its position nor on the layout.
/// Errors are below 3 units in the last place of the result (of 1 for erf, near 0 of alpha for
/// Elu's kin) against the exact function; the polynomials are minimax fits made for these
/// intervals. NaN gives NaN.
namespace tare::vmath {

/// e^r - 1 and n with x = n ln 2 + r, |r| <= ln 2 / 2.
struct ExpParts {
  float fraction;
  std::int32_t n;
};

inline ExpParts split_exp(float x) {
  // Adding 1.5 * 2^23 rounds to an integer, which then sits in the low bits.
  constexpr float kRound = 0x1.8p23F;
  const float shifted = x * 1.44269502F + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * 0.693145752F) - n * 1.42860677e-6F;
  float p = 0.000199193804F;
  p = p * r + 0.00139472249F;
  p = p * r + 0.00833326299F;
  p = p * r + 0.0416662544F;
  p = p * r + 0.166666672F;
  p = p * r + 0.5F;
  return {p * r * r + r,
          std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(kRound)};
}

/// 2^n for -126 <= n <= 127.
inline float power_of_two(std::int32_t n) {
  return std::bit_cast<float>((n + 127) << 23);
}

inline float exp(float x) {
  // Outside of this range the result is 0 or infinity; NaN passes both comparisons.
  x = x < -104.0F ? -104.0F : x;
  x = x > 89.0F ? 89.0F : x;
  const ExpParts parts = split_exp(x);
  // In two steps, as 2^n itself may be beyond the normal floats.
  const std::int32_t half = parts.n / 2;
  return (parts.fraction + 1.0F) * power_of_two(half) * power_of_two(parts.n - half);
}

/// e^x - 1 for x <= 0 (above 80 it saturates).
inline float expm1(float x) {
  x = x < -30.0F ? -30.0F : x;
  x = x > 80.0F ? 80.0F : x;
  const ExpParts parts = split_exp(x);
  const float scale = power_of_two(parts.n);
  return parts.fraction * scale + (scale - 1.0F);
}

/// ln(1 + y) for 0 <= y <= 1, as 2 artanh(y / (2 + y)).
inline float log1p_unit(float y) {
  const float s = y / (2.0F + y);
  const float z = s * s;
  float p = 0.121504694F;
  p = p * z + 0.107138284F;
  p = p * z + 0.143084422F;
  p = p * z + 0.199994385F;
  p = p * z + 0.333333373F;
  return 2.0F * (s + s * z * p);
}

inline float sigmoid(float x) {
  return 1.0F / (1.0F + exp(-x));
}

inline float tanh(float x) {
  const float z = x * x;
  float p = -0.00552862464F;
  p = p * z + 0.0204833057F;
  p = p * z - 0.053692963F;
  p = p * z + 0.133308992F;
  p = p * z - 0.333332628F;
  const float near = x + x * z * p;
  const float magnitude = std::fabs(x);
  const float far = std::copysign(1.0F - 2.0F / (exp(2.0F * magnitude) + 1.0F), x);
  return magnitude > 0.625F ? far : near;
}

inline float erf(float x) {
  const float z = x * x;
  float p = 7.8891193e-05F;
  p = p * z - 0.000802084105F;
  p = p * z + 0.00518953521F;
  p = p * z - 0.0268544443F;
  p = p * z + 0.112836003F;
  p = p * z - 0.37612626F;
  p = p * z + 1.12837911F;
  // ln(1 - erf(t)); beyond 4 the result is 1.
  const float magnitude = std::fabs(x);
  const float t = magnitude > 4.0F ? 4.0F : magnitude;
  float q = 0.000191505038F;
  q = q * t - 0.00299954903F;
  q = q * t + 0.0220520291F;
  q = q * t - 0.103566952F;
  q = q * t - 0.637599945F;
  q = q * t - 1.12742615F;
  q = q * t - 0.000256436644F;
  const float far = std::copysign(1.0F - exp(q), x);
  return magnitude > 1.0F ? far : x * p;
}

inline float softplus(float x) {
  return (x < 0.0F ? 0.0F : x) + log1p_unit(exp(-std::fabs(x)));
}

/// x tanh(softplus(x)), with tanh(ln(1 + e)) = e (e + 2) / (e (e + 2) + 2).
inline float mish(float x) {
  const float e = exp(x > 20.0F ? 20.0F : x);
  const float w = e * (e + 2.0F);
  return x * (w / (w + 2.0F));
}

// The same names for double, where speed does not matter.
inline double exp(double x) {
  return std::exp(x);
}
inline double expm1(double x) {
  return std::expm1(x);
}
inline double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}
inline double tanh(double x) {
  return std::tanh(x);
}
inline double erf(double x) {
  return std::erf(x);
}
inline double softplus(double x) {
  return (x < 0.0 ? 0.0 : x) + std::log1p(std::exp(-std::fabs(x)));
}
inline double mish(double x) {
  return x * std::tanh(softplus(x));
}

/// 0.5 x (1 + erf(x / sqrt 2))
template <std::floating_point T>
T gelu(T x) {
  return T(0.5) * x * (T(1) + erf(x * T(0.70710678118654752)));
}

/// The tanh form of Gelu.
template <std::floating_point T>
T gelu_tanh(T x) {
  return T(0.5) * x * (T(1) + tanh(T(0.79788456080286536) * (x + T(0.044715) * x * x * x)));
}

}  // namespace tare::vmath
