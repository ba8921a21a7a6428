#pragma once

#include "execute/kernel.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace tare {

using Strides = std::vector<std::int64_t>;

/// Visits N arrays together: loop i runs over extents[i] and moves array k by strides[k][i]
/// elements (0: the array is repeated along it). The loops may be given in any order, usually
/// one per logical axis; they are sorted into the memory order of array 0 and neighbours that
/// every array crosses with one stride are merged, so that rows are as long as possible.
template <std::size_t N>
class NestedLoops {
 public:
  using Offsets = std::array<std::int64_t, N>;

  NestedLoops(const Shape& extents, const std::array<Strides, N>& strides) {
    std::vector<Loop> loops;
    for (std::size_t i = 0; i < extents.size(); ++i) {
      if (extents[i] == 1) {
        continue;
      }
      Loop loop{extents[i], {}};
      for (std::size_t k = 0; k < N; ++k) {
        loop.strides[k] = strides[k][i];
      }
      loops.push_back(loop);
    }
    std::stable_sort(loops.begin(), loops.end(),
                     [](const Loop& a, const Loop& b) { return a.strides[0] > b.strides[0]; });
    for (const Loop& loop : loops) {
      if (!loops_.empty() && follows(loops_.back(), loop)) {
        loops_.back().extent *= loop.extent;
        loops_.back().strides = loop.strides;
      } else {
        loops_.push_back(loop);
      }
    }
    if (loops_.empty()) {
      Loop single{1, {}};
      single.strides.fill(1);
      loops_.push_back(single);
    }
  }

  struct Loop {
    std::int64_t extent;
    Offsets strides;
  };
  /// Outermost first; the last one is the row.
  const std::vector<Loop>& loops() const { return loops_; }
  std::size_t row_length() const { return static_cast<std::size_t>(loops_.back().extent); }
  std::int64_t row_stride(std::size_t array) const { return loops_.back().strides[array]; }

  /// f(offsets): the first element of each array's part of every row, in memory order of array
  /// 0.
  template <class F>
  void for_each_row(F&& f) const {
    walk(loops_.size() - 1, f);
  }

  /// The outermost `depth` loops only.
  template <class F>
  void walk(std::size_t depth, F&& f) const {
    for (const Loop& loop : loops_) {
      if (loop.extent == 0) {
        return;
      }
    }
    Offsets offsets{};
    std::vector<std::int64_t> index(depth, 0);
    for (;;) {
      f(offsets);
      std::size_t i = depth;
      for (; i > 0; --i) {
        const Loop& loop = loops_[i - 1];
        const bool wraps = ++index[i - 1] == loop.extent;
        const std::int64_t steps = wraps ? 1 - loop.extent : 1;
        for (std::size_t k = 0; k < N; ++k) {
          offsets[k] += steps * loop.strides[k];
        }
        if (!wraps) {
          break;
        }
        index[i - 1] = 0;
      }
      if (i == 0) {
        return;
      }
    }
  }

 private:
  static bool follows(const Loop& outer, const Loop& inner) {
    for (std::size_t k = 0; k < N; ++k) {
      if (outer.strides[k] != inner.strides[k] * inner.extent) {
        return false;
      }
    }
    return true;
  }

  std::vector<Loop> loops_;
};

/// Strides of an operand along the axes of a result it is broadcast to (numpy rules).
Strides broadcast_strides(const Operand& operand, const Operand& result);

/// Loops over a result and the operands broadcast to it.
template <class... Operands>
auto broadcast_loops(const Operand& result, const Operands&... operands) {
  return NestedLoops<1 + sizeof...(Operands)>(
      result.shape(), {result.strides(), broadcast_strides(operands, result)...});
}

}  // namespace tare
