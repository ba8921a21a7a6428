#pragma once

#include <cstddef>
#include <cstdint>

namespace tare {

/// Random bits that are the same everywhere (Steele, Lea and Flood, "Fast Splittable
/// Pseudorandom Number Generators", 2014).
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }

  /// Calls f(index, bit) for every index below `count`, in any order. The bit is a number, 0 or
  /// 1, to calculate with: a branch on it would be mispredicted half of the time.
  template <class F>
  void for_each_bit(std::size_t count, F&& f) {
    for (std::size_t first = 0; first < count; first += 64) {
      const std::uint64_t bits = next();
      const std::size_t n = count - first < 64 ? count - first : 64;
#pragma omp simd
      for (std::size_t i = 0; i < n; ++i) {
        f(first + i, static_cast<std::uint32_t>(bits >> i & 1U));
      }
    }
  }

 private:
  std::uint64_t state_;
};

}  // namespace tare
