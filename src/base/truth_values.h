#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace tare {

/// Makes bytes that come from outside values of type bool: any but 0 stands for true there, and
/// in C++ only 1 does.
inline void make_truth_values(std::span<std::byte> bytes) {
  std::transform(bytes.begin(), bytes.end(), bytes.begin(),
                 [](std::byte x) { return std::byte{x != std::byte{0}}; });
}

}  // namespace tare
