#pragma once

#include <cstddef>

namespace tare {

/// One in so many runs judges what the others led to.
inline constexpr std::size_t kHeldBackOneIn = 4;

/// Whether the run is one of these; the place of a run counts from 0.
constexpr bool is_held_back(std::size_t place) {
  return place % kHeldBackOneIn == kHeldBackOneIn - 1;
}

}  // namespace tare
