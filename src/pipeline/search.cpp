#include "tare/pipeline.h"

#include "pipeline/stages.h"

namespace tare {

std::vector<Tradeoff> tradeoffs(const Graph& model, const Dataset& data, const Config& config,
                                const Toolkit& toolkit, const CalibrateOptions& options,
                                const MeasuredErrors& measured) {
  Stages stages(model, config, toolkit);
  stages.equalize(data, options);
  stages.simulate();
  // Slower than any network that stays float.
  constexpr double kAny = 1e6;
  return stages.tradeoffs(data, options, kAny, measured);
}

Config sharing_out(Config config, const Tradeoff& way) {
  config.slowdown = 0;
  for (const std::string& node : way.float_nodes) {
    LayerRule rule;
    rule.name = node;
    rule.keep_float = true;
    config.layers.push_back(std::move(rule));
  }
  return config;
}

}  // namespace tare
