#pragma once

#include "tare/node.h"

namespace tare {

// Files may move, pick and bound storage values as the integers they are, between
// QuantizeLinear and DequantizeLinear. Here their parameters follow them.

/// Gives the node's results the parameters of its operands, when it is such an operator and
/// these have some; whether it did.
bool follow_parameters(Graph&, const Node&);

/// Gives the storage value these parameters, and with it the values that it was moved from.
/// Says false, and changes nothing, when the value has others or is the result of raw
/// arithmetic, which with parameters would be arithmetic on what they stand for.
bool assign_parameters(Graph&, ValueId storage, const QuantParams&);

/// Bounds and pads of storage values with parameters become the real numbers that they stand
/// for, as they are everywhere else.
void express_constants(Graph&);

}  // namespace tare
