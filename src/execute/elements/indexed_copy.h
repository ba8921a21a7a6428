#pragma once

#include "execute/kernel.h"

#include <cstdint>
#include <vector>

namespace tare {

/// y[i0,i1,...] = x[map0[i0], map1[i1], ...]; where a map says -1 a fill value stands instead.
/// Padding and nearest-neighbour resizing are this.
class IndexedCopy {
 public:
  using Map = std::vector<std::int64_t>;

  /// One map per logical axis, with an entry for every position along that axis of `to`.
  IndexedCopy(const Operand& to, const Operand& from, const std::vector<Map>& maps);
  /// `fill` is one element; null means zero.
  void operator()(const std::byte* from, std::byte* to, const std::byte* fill) const;

 private:
  template <class T>
  struct Run;

  DType dtype_;
  std::vector<Map> offsets_;        ///< by axis in memory order; elements of `from`, or -1
  std::vector<std::int64_t> span_;  ///< elements of `to` below one step of each axis
  std::int64_t block_ = 1;          ///< elements that are copied in one piece
};

}  // namespace tare
