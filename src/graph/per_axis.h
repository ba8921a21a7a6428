#pragma once

#include "tare/tensor.h"

#include <cstddef>
#include <optional>

namespace tare {

/// Calls f(channel, first, count) for every contiguous run of elements that share one channel
/// of `axis`; once with channel 0 and everything when there is no axis. Runs come in memory
/// order.
template <class F>
void for_each_slice(const Shape& shape, std::optional<int> axis, F&& f) {
  const auto total = static_cast<std::size_t>(element_count(shape));
  if (!axis) {
    f(std::size_t{0}, std::size_t{0}, total);
    return;
  }
  const auto channels = static_cast<std::size_t>(shape.at(static_cast<std::size_t>(*axis)));
  std::size_t inner = 1;
  for (std::size_t i = static_cast<std::size_t>(*axis) + 1; i < shape.size(); ++i) {
    inner *= static_cast<std::size_t>(shape[i]);
  }
  if (total == 0) {
    return;
  }
  for (std::size_t first = 0, run = 0; first < total; first += inner, ++run) {
    f(run % channels, first, inner);
  }
}

}  // namespace tare
