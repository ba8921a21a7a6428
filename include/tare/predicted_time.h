#pragma once

#include "tare/quant_table.h"
#include "tare/simulate.h"

#include <optional>
#include <span>

namespace tare {

/// What a target is said to take for a run, in nanoseconds of one thread, conversions included.
/// Only operators that it gives costs for count.
struct PredictedTime {
  double floats = 0;     ///< of the float network
  double quantized = 0;  ///< of the quantized one
};
/// Of regions whose points the table enables. Nothing where the target gives no costs, or none
/// for what takes most of the time: recurrent operators, and products of operands that get
/// their parameters while the network runs.
std::optional<PredictedTime> predicted_time(const SimulatedGraph&, const QuantTable&,
                                            std::span<const QuantPattern>);

}  // namespace tare
