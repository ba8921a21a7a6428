#pragma once

#include "execute/kernel.h"

#include <optional>

namespace tare {

/// Operand i. Throws Error(kInvalidModel) when the node has none.
const Operand& required(const KernelRequest&, std::size_t i);

/// Whether the operands before `count` (all by default) and the first result have one type.
bool uniform(const KernelRequest&, std::size_t count = static_cast<std::size_t>(-1));

/// Whether every operand that is not absent is f32.
bool all_f32(const KernelRequest&);

/// Throws Error(kInvalidModel) unless the operand has this shape. Kernels derive the shape of
/// their result once more, because memory was reserved for what the model claims.
void expect_shape(const Operand&, const Shape&);

/// Throws Error(kInvalidModel) unless the operand has that many elements.
void expect_count(const Operand&, std::size_t);

/// The attribute "axis" made non-negative.
std::size_t axis_of(const KernelRequest&, std::int64_t fallback, std::size_t rank);

/// Elements around one axis in memory order: outer blocks of `extent` steps of `inner`
/// elements.
struct AxisView {
  std::size_t outer = 1;
  std::size_t extent = 1;
  std::size_t inner = 1;
};
AxisView view_axis(const Operand&, std::size_t logical_axis);

/// `index` counted from the end when negative. Throws Error(kInvalidData) outside of the
/// extent.
std::int64_t checked_index(std::int64_t index, std::int64_t extent);

std::size_t count_of(const Operand&);

/// The layout function of kernels that work in any layout.
LayoutRule follow(const KernelRequest&);

}  // namespace tare
