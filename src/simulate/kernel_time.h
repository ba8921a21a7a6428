#pragma once

#include "tare/config.h"
#include "tare/node.h"

namespace tare {

/// Nanoseconds that a node takes at these costs.
double kernel_time(const Graph&, const Node&, const KernelCost&);

}  // namespace tare
