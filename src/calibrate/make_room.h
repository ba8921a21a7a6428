#pragma once

#include "tare/quant_table.h"
#include "tare/simulate.h"

namespace tare {

/// Widens the scales of an accumulator's weight, channel by channel, until its biases fit int32
/// and, where the graph is to avoid overflow, no input can make a sum leave the accumulator.
/// True when that changed the integers of the weight.
bool make_room(const SimulatedGraph&, const QuantPoint& accumulator, QuantTable&);

}  // namespace tare
