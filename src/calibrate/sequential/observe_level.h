#pragma once

#include "tare/quant_table.h"

#include "calibrate/rounding/layer_rows.h"
#include "calibrate/sequential/layerwise_runner.h"
#include "calibrate/sequential/levels.h"
#include "calibrate/statistics/observed.h"
#include "simulate/part_binder.h"

#include <map>
#include <span>
#include <vector>

namespace tare {

/// Rows of the layers whose weights are rounded, by accumulator or weight in blocks.
using RowsOfLayers = std::map<const QuantPoint*, LayerRows>;

/// What a level has shown.
struct ObservedLevel {
  std::map<ValueId, Observed> values;     ///< that are watched
  std::vector<TensorStatistics> visible;  ///< of what is seen of its rectified operands

  const Observed& of(const QuantPoint& point) const { return values.at(point.simulated); }
};

/// Runs all samples through one level, with what is decided before it: one step of the runner,
/// which caches the values `kept`. Gives `layers` their rows of this process; what is observed
/// is that of all processes of a team.
ObservedLevel observe_level(LayerwiseRunner&, const PartBinder&, const QuantTable& decided,
                            const CalibrationLevel&, std::span<const ValueId> kept,
                            std::span<const CalibratorInfo>, Communicator* team,
                            RowsOfLayers& layers);

}  // namespace tare
