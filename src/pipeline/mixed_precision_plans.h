#pragma once

#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/node.h"
#include "tare/quant_table.h"
#include "tare/statistics.h"

#include "search/sensitivities.h"

#include <vector>

namespace tare {

/// The Pareto front of mixed-precision plans, from the fastest to the float network, see
/// pareto_plans(). Calibrates in one pass, and measures sensitivities on some samples. The
/// configured slowdown has no effect.
std::vector<MixedPrecisionPlan> mixed_precision_plans(const Graph& model, const Dataset&,
                                                      const Config&, const Toolkit&,
                                                      const CalibrateOptions& = {},
                                                      const MeasuredSensitivities& = {});

}  // namespace tare
