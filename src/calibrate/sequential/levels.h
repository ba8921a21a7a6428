#pragma once

#include "tare/quant_table.h"

#include <vector>

namespace tare {

/// An activation of which a Relu behind a sum hides a part.
struct RectifiedOperand {
  const QuantPoint* point = nullptr;
  ValueId other;  ///< in the simulated graph: what it is added to, known with the point's level
};

/// Points that do not depend on each other, but only on points of the levels before.
struct CalibrationLevel {
  std::vector<const QuantPoint*> points;        ///< activations
  std::vector<RectifiedOperand> rectified;      ///< some of these
  std::vector<const QuantPoint*> accumulators;  ///< whose factors are decided with this level
  std::vector<const QuantPoint*> weights;       ///< in blocks, whose operands are known with it
  /// Values of the simulated graph that follow from this level and those before it, from which
  /// everything of the level after the next can be computed: quantized values where possible.
  std::vector<ValueId> cached_values;
};

/// The activations of a simulated graph in the order in which quantization errors spread.
std::vector<CalibrationLevel> plan_levels(const SimulatedGraph&);

}  // namespace tare
