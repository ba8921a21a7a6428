#pragma once

#include "execute/elements/nested_loops.h"

namespace tare {

/// One array of a strided copy: which element comes first and how far each loop moves.
struct Walk {
  Strides strides;
  std::int64_t offset = 0;
};

/// Copies elements along nested loops: to[...] = from[...]. All of Transpose, Slice, Concat,
/// Tile and their kin are this with the right strides. Elements of `to` are visited once each.
class StridedCopy {
 public:
  StridedCopy(DType, const Shape& extents, const Walk& to, const Walk& from);
  void operator()(const std::byte* from, std::byte* to) const;

 private:
  /// The two innermost loops: `row` is dense in `to`, and `column` in `from` where possible.
  using Loop = NestedLoops<2>::Loop;

  template <class T>
  void run(const T* from, T* to) const;
  template <class T>
  void copy_plane(const T* from, T* to) const;

  DType dtype_;
  std::int64_t to_offset_;
  std::int64_t from_offset_;
  NestedLoops<2> outer_;
  Loop row_;
  Loop column_;
};

/// A kernel of one copy from input 0 to output 0.
std::unique_ptr<Kernel> copy_kernel(StridedCopy);

}  // namespace tare
