#pragma once

#include <string_view>

namespace tare {

/// Whether an operator gives other results in each run of an engine, so that none of them
/// stands for it.
constexpr bool draws_at_random(std::string_view op) {
  return op.starts_with("Random") || op == "Bernoulli" || op == "Multinomial";
}

}  // namespace tare
