// A report as an overlay for Model Explorer (ai-edge-model-explorer), which colours the graph
// of a model by it: its format of node data, by the names of output tensors.
#include "tare/report.h"

#include "report/report_json.h"

#include <array>
#include <cmath>

namespace tare {
namespace {

struct Shade {
  double below;  ///< dB
  const char* color;
};

/// Errors of more than a third, a tenth, a thirtieth of the values, and less: doubles have no
/// more than some 300 dB.
constexpr std::array<Shade, 4> kShades{
    {{10, "#d73027"}, {20, "#fc8d59"}, {30, "#fee08b"}, {1000, "#91cf60"}}};

}  // namespace

std::string report_overlay(const Report& report) {
  Json results = Json::object();
  for (const LayerReport& layer : report.layers) {
    if (layer.local && layer.local->sqnr && std::isfinite(*layer.local->sqnr)) {
      results[layer.result] = {{"value", *layer.local->sqnr}};
    }
  }
  Json thresholds = Json::array();
  for (const Shade& shade : kShades) {
    thresholds.push_back({{"value", shade.below}, {"bgColor", shade.color}});
  }
  return to_text({{"results", std::move(results)}, {"thresholds", std::move(thresholds)}});
}

}  // namespace tare
