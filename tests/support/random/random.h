#pragma once

#include "tare/tensor.h"

#include <cstdint>
#include <random>
#include <vector>

namespace tare::test {

/// The same numbers on every machine, unlike the distributions of the standard library.
class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}

  /// Both ends included.
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return low +
           static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool coin() { return integer(0, 1) == 1; }
  float real() { return static_cast<float>(integer(-1000, 1000)) / 500.F; }  ///< in [-2, 2]

  Tensor tensor(Shape shape) {
    Tensor result(DType::kFloat32, std::move(shape));
    for (float& x : result.mutable_view<float>()) {
      x = real();
    }
    return result;
  }
  std::vector<std::int64_t> integers(std::size_t count, std::int64_t low, std::int64_t high) {
    std::vector<std::int64_t> result(count);
    for (auto& x : result) {
      x = integer(low, high);
    }
    return result;
  }

 private:
  std::mt19937 engine_;
};

}  // namespace tare::test
