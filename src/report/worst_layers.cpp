// Advice for a verdict that is not good and has no single cause: where the errors of many
// layers add up, the layers that lose most, or a search.

#include "report/diagnose.h"
#include "report/figures.h"
#include "report/yaml_rules.h"

#include <algorithm>
#include <iterator>

namespace tare {
namespace {

constexpr const char* kKind = "spread_loss";
constexpr const char* kSearch =
    "let 'tare search MODEL --data SAMPLES -o FILE --require output.sqnr>=25' choose which "
    "layers stay in float";

/// By their own error.
std::vector<const LayerReport*> worst_layers(const Report& report) {
  constexpr std::size_t kShown = 5;
  std::vector<const LayerReport*> layers;
  for (const LayerReport& layer : report.layers) {
    if (layer.local && !layer.local->exact && layer.local->sqnr) {
      layers.push_back(&layer);
    }
  }
  std::stable_sort(layers.begin(), layers.end(), [](const auto* a, const auto* b) {
    return *a->local->sqnr < *b->local->sqnr;
  });
  layers.resize(std::min(layers.size(), kShown));
  return layers;
}

}  // namespace

void propose_worst_layers(Report& report) {
  auto& found = report.diagnoses;
  if (report.level == Level::kGood ||
      std::any_of(found.begin(), found.end(), [](const auto& d) { return !d.yaml.empty(); })) {
    return;
  }
  const auto known =
      std::find_if(found.begin(), found.end(), [](const auto& d) { return d.kind == kKind; });
  if (known != found.end()) {
    known->advice = kSearch;
    return;
  }
  const std::vector<const LayerReport*> layers = worst_layers(report);
  const OutputReport* output = worst_output(report.outputs);
  if (layers.empty() || output == nullptr) {
    return;
  }
  std::vector<std::string> names;
  std::transform(layers.begin(), layers.end(), std::back_inserter(names),
                 [](const LayerReport* layer) { return layer->name; });
  Diagnosis worst;
  worst.kind = kKind;
  // As of what suffers: the output.
  worst.severity = std::clamp(1 - sqnr_of(output->error) / 40, 0.05, 1.0);
  worst.layer = names.front();
  worst.text = "the errors of many layers add up: the worst " + counted(names.size(), "layer") +
               " have a local SQNR of " + decibels(*layers.front()->local->sqnr) +
               (names.size() > 1 ? " to " + decibels(*layers.back()->local->sqnr) : "");
  worst.advice = std::string("keep these in float, or ") + kSearch;
  worst.yaml = layer_rules(names, "keep_float: true");
  worst.change = {.keep_float = names, .point = {}, .range = {}};
  found.push_back(std::move(worst));
}

}  // namespace tare
