
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

Config apply_plan(Config config, const MixedPrecisionPlan& plan) {
  config.slowdown = 0;
  for (const std::string& node : plan.float_nodes) {
    LayerRule rule;
    rule.name = node;
    rule.keep_float = true;
    config.layers.push_back(std::move(rule));
  }
  return config;
}

}  // namespace tare
