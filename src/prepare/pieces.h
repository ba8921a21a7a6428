#pragma once

#include "tare/pattern.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tare {

/// A part of a value: elements [begin, end) along an axis.
struct ValuePiece {
  ValueId value;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// What lies side by side along an axis of the value: what a Concat puts there, or itself.
std::vector<ValuePiece> pieces_of(const Graph&, ValueId, std::size_t axis);

/// Elements [begin, end) of pieces that lie side by side.
std::vector<ValuePiece> cut(const std::vector<ValuePiece>& pieces, std::int64_t begin,
                            std::int64_t end);

/// A value of the pieces, at least one, side by side: by Slice where one is not whole, and
/// Concat where there are several. New nodes get names that begin with this one.
ValueId join(Patch&, const std::vector<ValuePiece>& pieces, std::size_t axis,
             const std::string& name);

}  // namespace tare
