#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tare {

/// Finds bins of equal width in a row of them.
struct BinGrid {
  float inverse_width = 1;  ///< a power of two
  std::int32_t zero = 0;    ///< the bin that begins at 0
};

/// Room that nonzero_bins() needs behind the indices it gives.
constexpr std::size_t kSpareIndices = 8;

/// Writes the bins of the finite values that are not zero, in their order, and returns how
/// many. Each is to be below 2^16; `bins` has room for all values and kSpareIndices more.
/// Counting them is what takes the time: each is an increment in memory, and equal neighbours
/// wait for each other. Rectified values are half zeros.
std::size_t nonzero_bins(std::span<const float> values, const BinGrid&, std::uint16_t* bins);

}  // namespace tare
