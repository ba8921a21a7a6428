#include "pipeline/mixed_precision_plans.h"

#include "pipeline/stages.h"

namespace tare {

std::vector<MixedPrecisionPlan> mixed_precision_plans(const Graph& model, const Dataset& data,
                                                      const Config& config,
                                                      const Toolkit& toolkit,
                                                      const CalibrateOptions& options,
                                                      const MeasuredSensitivities& measured) {
  Stages stages(model, config, toolkit);
  stages.equalize(data, options);
  stages.simulate();
  // Slower than any network that stays float.
  constexpr double kAny = 1e6;
  return stages.mixed_precision_plans(data, options, kAny, measured);
}

}  // namespace tare
