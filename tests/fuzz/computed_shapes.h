#pragma once

#include "fuzz/drawing.h"

#include <optional>

namespace tare::fuzz {

/// One extent of a value as exporters compute it: an integer, or a vector of one.
ValueId extent_of(Drawing&, ValueId, std::int64_t axis, bool is_scalar);

/// A layer that computes with extents: the target of a Reshape, positions, a mask, a size to
/// grow to. Nothing where the value does not fit.
std::optional<ValueId> layer_of_extents(Drawing&, ValueId);

}  // namespace tare::fuzz
