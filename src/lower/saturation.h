#pragma once

#include "tare/node.h"

namespace tare {

/// Whether quantizing with those parameters has the effect of a Relu or Clip: no storage value
/// lies beyond its bounds. False for other operators, bounds that are computed and parameters
/// per axis.
bool saturates_like(const Graph&, const Node& activation, const QuantParams&);

}  // namespace tare
