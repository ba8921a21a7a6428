#pragma once

#include "tare/quant_table.h"
#include "tare/statistics.h"

#include "calibrate/rounding/layer_rows.h"

namespace tare {

/// Chooses the integers of the weights of an accumulator, whose parameters and those of its
/// input are decided, for the least error of its results on the rows; or those of a weight in
/// blocks, whose input is real. `team` as in RoundingTask.
void round_weights(const SimulatedGraph&, const QuantPoint& accumulator_or_weight,
                   const LayerRows&, int threads, QuantTable&, Communicator* team = nullptr);

}  // namespace tare
