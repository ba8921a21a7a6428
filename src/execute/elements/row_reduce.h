#pragma once

#include <array>
#include <cstddef>

namespace tare {

/// Combines n dense elements in independent chains, so that the loop is vectorized, and then
/// the chains in a fixed order: step(chain, element) and merge(chain, chain) give the new
/// chain.
template <class Acc, class X, class Step, class Merge>
Acc reduce_row(const X* x, std::size_t n, Acc init, Step step, Merge merge) {
  constexpr std::size_t kChains = 16;
  std::array<Acc, kChains> chains;
  chains.fill(init);
  std::size_t i = 0;
  for (; i + kChains <= n; i += kChains) {
#pragma omp simd  // without it GCC makes branches of comparisons
    for (std::size_t k = 0; k < kChains; ++k) {
      chains[k] = step(chains[k], x[i + k]);
    }
  }
  for (std::size_t k = 0; i + k < n; ++k) {
    chains[k] = step(chains[k], x[i + k]);
  }
  for (std::size_t width = kChains / 2; width > 0; width /= 2) {
    for (std::size_t k = 0; k < width; ++k) {
      chains[k] = merge(chains[k], chains[k + width]);
    }
  }
  return chains[0];
}

}  // namespace tare
