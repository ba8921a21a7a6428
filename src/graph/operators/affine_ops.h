#pragma once

#include "tare/node.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tare {

/// The rows that hold for the graph.
std::span<const AffineOp> affine_ops(const Graph&);
/// Null when the operator is not on the graph's list.
const AffineOp* find_affine_op(const Graph&, const Node&);

/// Relu and Clip, which saturation may do the work of; they keep every element in its place.
bool is_activation(const Node&);

/// The axis of the first result that holds what `axis` of the first operand holds, each index
/// in the place of the same index; nothing where there is none. For operators that move
/// elements.
std::optional<int> axis_of_result(const Graph&, const Node&, int axis);
/// The other way round.
std::optional<int> axis_of_operand(const Graph&, const Node&, int axis);

}  // namespace tare
