#pragma once

#include "tare/graph.h"

#include <cstddef>

namespace tare {

/// Whether a value has that extent along the axis for all inputs that its model takes, also
/// where the model leaves extents of these open. False where that is not known.
bool is_fixed_extent(const Graph&, ValueId, std::size_t axis);

}  // namespace tare
