#pragma once

#include "tare/graph.h"

#include <optional>

namespace tare {

/// The other operand where a value is only added to one that is computed and has its shape, and
/// only a Relu reads the sum, as at the end of a residual block. The conversions of simulated
/// graphs may lie between. Nothing for other values.
std::optional<ValueId> rectified_with(const Graph&, ValueId);

/// Adds -relu(other). Where a value lies below that, relu(value + other) is 0, however far
/// below.
ValueId add_hiding_bound(Graph&, ValueId other);

/// Adds what relu(value + other) shows of a value in f32: max(value, bound), of that bound. So
/// what is hidden has the highest number that still gives 0, or 0 if that is lower, which every
/// range holds.
ValueId add_visible_part(Graph&, ValueId value, ValueId bound);

}  // namespace tare
