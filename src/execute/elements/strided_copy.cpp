// Copies along nested loops. The loops are ordered by the result, so that writing is dense, and
// the one along which the operand is dense comes next to it: the two innermost ones are walked
// in tiles, since a transpose walked row by row would fetch a cache line for each element.
#include "execute/elements/strided_copy.h"

#include "execute/elements/dispatch.h"

#include <algorithm>
#include <cstring>

namespace tare {
namespace {

using Loops = NestedLoops<2>;

/// Removes and returns the loop that goes well with the row.
Loops::Loop take_column(std::vector<Loops::Loop>& loops, const Loops::Loop& row) {
  if (loops.empty()) {
    return {1, {0, 0}};
  }
  auto column = std::prev(loops.end());
  if (row.strides[1] != 1) {
    const auto dense = std::find_if(loops.begin(), loops.end(), [](const Loops::Loop& loop) {
      return loop.strides[1] == 1;
    });
    column = dense != loops.end() ? dense : column;
  }
  const Loops::Loop taken = *column;
  loops.erase(column);
  return taken;
}

Loops from_loops(const std::vector<Loops::Loop>& loops) {
  Shape extents;
  std::array<Strides, 2> strides;
  for (const Loops::Loop& loop : loops) {
    extents.push_back(loop.extent);
    strides[0].push_back(loop.strides[0]);
    strides[1].push_back(loop.strides[1]);
  }
  return {extents, strides};
}

}  // namespace

StridedCopy::StridedCopy(DType dtype, const Shape& extents, const Walk& to, const Walk& from)
    : dtype_(dtype),
      to_offset_(to.offset),
      from_offset_(from.offset),
      outer_({}, {}),
      row_{},
      column_{} {
  std::vector<Loop> loops = Loops(extents, {to.strides, from.strides}).loops();
  row_ = loops.back();
  loops.pop_back();
  column_ = take_column(loops, row_);
  outer_ = from_loops(loops);
}

void StridedCopy::operator()(const std::byte* from, std::byte* to) const {
  const auto as = [&]<class T>(Tag<T>) {
    run(reinterpret_cast<const T*>(from) + from_offset_, reinterpret_cast<T*>(to) + to_offset_);
  };
  with_cell(dtype_, as);
}

template <class T>
void StridedCopy::run(const T* from, T* to) const {
  if (row_.extent == 0 || column_.extent == 0) {
    return;
  }
  outer_.walk(outer_.loops().size(),
              [&](const auto& at) { copy_plane(from + at[1], to + at[0]); });
}

template <class T>
void StridedCopy::copy_plane(const T* from, T* to) const {
  if (row_.strides == Loops::Offsets{1, 1}) {
    const auto bytes = static_cast<std::size_t>(row_.extent) * sizeof(T);
    for (std::int64_t j = 0; j < column_.extent; ++j) {
      std::memcpy(to + j * column_.strides[0], from + j * column_.strides[1], bytes);
    }
    return;
  }
  // Tiles small enough that the cache lines of both sides stay while a tile is copied, 16 bytes
  // or more of each line at a time.
  constexpr std::int64_t kTile = 16;
  for (std::int64_t row = 0; row < row_.extent; row += kTile) {
    const std::int64_t row_end = std::min(row + kTile, row_.extent);
    for (std::int64_t j = 0; j < column_.extent; ++j) {
      const T* source = from + j * column_.strides[1];
      T* target = to + j * column_.strides[0];
      for (std::int64_t i = row; i < row_end; ++i) {
        target[i * row_.strides[0]] = source[i * row_.strides[1]];
      }
    }
  }
}

std::unique_ptr<Kernel> copy_kernel(StridedCopy copy) {
  return make_kernel([copy = std::move(copy)](const Buffers& buffers) {
    copy(buffers.inputs[0], buffers.outputs[0]);
  });
}

}  // namespace tare
