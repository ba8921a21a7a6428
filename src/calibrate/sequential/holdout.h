#pragma once

#include <cstddef>

namespace tare {

/// One in so many runs is held out, to validate what the others led to. More would validate
/// better and leave less to find it from.
inline constexpr std::size_t kHoldoutOneIn = 4;

/// Whether the run is one of these; the place of a run counts from 0.
constexpr bool is_holdout(std::size_t place) {
  return place % kHoldoutOneIn == kHoldoutOneIn - 1;
}

}  // namespace tare
