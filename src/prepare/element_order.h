#pragma once

#include "tare/graph.h"

namespace tare {

/// Whether all elements of a Transpose's result lie in the order in which they lay, as those of
/// a Reshape do, whatever the extents are that the model leaves open.
bool keeps_element_order(const Graph&, const Node& transpose);

}  // namespace tare
