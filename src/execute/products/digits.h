#pragma once

#include "tare/arithmetic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>

namespace tare {

/// What a storage value less its zero point can be.
struct FactorReach {
  double low = 0;
  double high = 0;
};

inline FactorReach factor_reach(const QuantParams& params) {
  const StorageRange range = params.range();
  FactorReach reach;
  for (const std::int32_t zero : params.zero_point) {
    reach.low = std::min(reach.low, static_cast<double>(range.low - zero));
    reach.high = std::max(reach.high, static_cast<double>(range.high - zero));
  }
  return reach;
}

/// Takes one digit out of an integer.
class Digit {
 public:
  Digit(int shift, int bits, bool is_last)
      : unit_(std::ldexp(1.0F, -shift)),
        base_(is_last ? 0 : std::ldexp(1.0F, bits)),
        next_(std::ldexp(1.0F, -bits)) {}

  float operator()(float value) const {
    const float high = std::floor(value * unit_);
    return high - base_ * std::floor(high * next_);
  }

 private:
  float unit_;
  float base_;
  float next_;
};

/// An integer as a sum of digits, each times a power of two: all within [0,2^bits) but for the
/// last one, which has the sign. Floats hold both exactly.
struct Digits {
  int bits = 0;
  std::size_t count = 1;

  int shift(std::size_t digit) const { return bits * static_cast<int>(digit); }

  Digit at(std::size_t digit) const { return {shift(digit), bits, digit + 1 == count}; }

  /// The largest magnitude of a digit.
  double largest(const FactorReach& reach, std::size_t digit) const {
    if (digit + 1 < count) {
      return std::ldexp(1.0, bits) - 1;
    }
    const double unit = std::ldexp(1.0, shift(digit));
    return std::max(std::floor(reach.high / unit), -std::floor(reach.low / unit));
  }

  /// As few digits as leave the last one no larger than the others.
  static Digits of_bits(int bits, const FactorReach& reach) {
    Digits digits{bits, 1};
    while (digits.largest(reach, digits.count - 1) > std::ldexp(1.0, bits)) {
      ++digits.count;
    }
    return digits;
  }
};

/// How the two factors of a sum of products are split.
struct SplitFactors {
  Digits input;
  Digits weights;
};

/// The coarsest split at which float32 sums of products of digits are exact, in any order: an
/// error-free transformation as of Ozaki, Ogita, Oishi and Rump (integer_product.cpp has the
/// title), for integers. Each pair of digits costs one product of matrices.
/// `largest_sum(digits, digit)` is that of the magnitudes of one digit of the weights of a
/// result. Nothing where even bits would be too many.
template <class LargestSum>
std::optional<SplitFactors> split_exactly(const FactorReach& input, const FactorReach& weights,
                                          LargestSum largest_sum) {
  constexpr double kExactFloat = 0x1p24;
  struct Bits {
    int input;
    int weights;
  };
  constexpr std::array<Bits, 6> kCoarsestFirst{Bits{8, 8}, Bits{8, 4}, Bits{4, 4},
                                               Bits{4, 2}, Bits{2, 2}, Bits{1, 1}};
  for (const Bits bits : kCoarsestFirst) {
    const SplitFactors split{Digits::of_bits(bits.input, input),
                             Digits::of_bits(bits.weights, weights)};
    double largest_input = 0;
    for (std::size_t digit = 0; digit < split.input.count; ++digit) {
      largest_input = std::max(largest_input, split.input.largest(input, digit));
    }
    bool exact = true;
    for (std::size_t digit = 0; digit < split.weights.count; ++digit) {
      exact = exact && largest_input * largest_sum(split.weights, digit) < kExactFloat;
    }
    if (exact) {
      return split;
    }
  }
  return std::nullopt;
}

}  // namespace tare
