#pragma once

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

namespace tare::bench {

/// Normal values, or what a Relu leaves of them.
inline std::vector<float> random_values(std::size_t count, bool rectified = false) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& x : values) {
    x = normal(random);
    x = rectified ? std::max(x, 0.0F) : x;
  }
  return values;
}

}  // namespace tare::bench
