#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tare {

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

}  // namespace tare
