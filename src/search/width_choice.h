#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tare {

/// What the weights of a layer cause and take with a number of bits.
struct WidthOption {
  int bits = 8;
  double error = 0;  ///< of the network's results, see Sensitivities
  double bytes = 0;  ///< of the file
  double bit_operations = 0;
};

/// What may be taken in all; infinite: as much as you like.
struct WidthLimits {
  double bytes = 0;
  double bit_operations = 0;
};

/// One option of each layer, by index: those whose errors have the least sum, of all that stay
/// within the limits. Exact for small networks; of larger ones as near as some thousand partial
/// choices that are kept apart. Nothing where no choice fits.
std::optional<std::vector<std::size_t>> least_error_within(
    std::span<const std::vector<WidthOption>> layers, const WidthLimits&);

}  // namespace tare
