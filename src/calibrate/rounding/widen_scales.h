#pragma once

#include "tare/quant_table.h"

namespace tare {

/// Widens the scales of an accumulator's weight, channel by channel, until its biases fit int32
/// and no input can make a sum leave the accumulator, unless that is narrow and may overflow.
/// True when that changed the integers of the weight.
bool widen_scales_to_fit(const SimulatedGraph&, const QuantPoint& accumulator, QuantTable&);

}  // namespace tare
