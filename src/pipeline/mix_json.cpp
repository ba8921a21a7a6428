#include "tare/search.h"

#include "report/report_json.h"

#include <cmath>

namespace tare {
namespace {

Json cost_json(const WidthMix& mix, double NetworkCost::*cost) {
  const double limit = mix.limit.*cost;
  return {{"limit", std::isfinite(limit) ? Json(std::llround(limit)) : Json()},
          {"taken", std::llround(mix.taken.*cost)},
          {"widest", std::llround(mix.widest.*cost)},
          {"least", std::llround(mix.least.*cost)}};
}

}  // namespace

std::string mix_json(const WidthMix& mix) {
  Json json{{"bits", {{"most", mix.most_bits}, {"least", mix.least_bits}}},
            {"bytes", cost_json(mix, &NetworkCost::bytes)},
            {"bit_operations", cost_json(mix, &NetworkCost::bit_operations)},
            {"layers", Json::array()}};
  for (const LayerWidth& layer : mix.layers) {
    json["layers"].push_back({{"nodes", layer.nodes},
                              {"bits", layer.bits},
                              {"error", layer.error},
                              {"given", layer.is_given}});
  }
  return to_text(json);
}

}  // namespace tare
