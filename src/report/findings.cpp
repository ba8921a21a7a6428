// Keeps findings while they are made, and rates them by what is left of the signal where they
// are. Each point and layer is explained once. Searches for specific causes run before those
// that would notice the same damage as a symptom, and parameters behind damaged inputs are not
// blamed.
#include "report/findings.h"

#include "report/figures.h"

#include <algorithm>
#include <limits>

namespace tare {
namespace {

/// 8-bit rounding of a range that is well used leaves about 40 dB; what leaves that does no
/// harm.
double severity(double sqnr) {
  constexpr double kHarmless = 40;
  return std::clamp(1 - sqnr / kHarmless, 0.05, 1.0);
}

}  // namespace

Findings::Findings(const Report& report) : report_(report) {
  for (const LayerReport& layer : report.layers) {
    by_name_.emplace(layer.name, &layer);
    for (const std::string& input : layer.inputs) {
      readers_.emplace(input, &layer);
    }
  }
}

std::vector<const LayerReport*> Findings::readers(const PointReport& point) const {
  const auto [first, last] =
      readers_.equal_range(point.layer.empty() ? point.value : point.layer);
  std::vector<const LayerReport*> result;
  std::transform(first, last, std::back_inserter(result),
                 [](const auto& entry) { return entry.second; });
  return result;
}

double Findings::reader_sqnr(const PointReport& point) const {
  double least = std::numeric_limits<double>::infinity();
  for (const LayerReport* layer : readers(point)) {
    if (layer->local) {
      least = std::min(least, sqnr_of(*layer->local));
    }
  }
  return least;
}

const LayerReport* Findings::layer(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

bool Findings::follows_damage(const LayerReport& reader) const {
  constexpr double kFarOff = 10;  // dB: errors of a third
  return std::any_of(reader.inputs.begin(), reader.inputs.end(), [&](const std::string& input) {
    const LayerReport* before = layer(input);
    return before != nullptr && before->cumulative && sqnr_of(*before->cumulative) < kFarOff;
  });
}

bool Findings::explained(const PointReport& point) const {
  return points_.contains(point.name);
}

bool Findings::explained(const LayerReport& layer) const {
  return layers_.contains(layer.name);
}

void Findings::add(const PointReport& point, Explanation why, double sqnr) {
  points_.insert(point.name);
  layers_.insert(point.layer);
  for (const LayerReport* reader : readers(point)) {
    layers_.insert(reader->name);
  }
  found_.push_back({.kind = std::move(why.kind),
                    .severity = severity(sqnr),
                    .layer = point.layer.empty() ? point.node : point.layer,
                    .point = point.name,
                    .text = std::move(why.text),
                    .advice = std::move(why.advice),
                    .yaml = std::move(why.yaml),
                    .change = std::move(why.change)});
}

void Findings::add(const LayerReport& layer, Explanation why, double sqnr) {
  layers_.insert(layer.name);
  found_.push_back({.kind = std::move(why.kind),
                    .severity = severity(sqnr),
                    .layer = layer.name,
                    .point = {},
                    .text = std::move(why.text),
                    .advice = std::move(why.advice),
                    .yaml = std::move(why.yaml),
                    .change = std::move(why.change)});
}

std::vector<Diagnosis> Findings::take() {
  std::stable_sort(found_.begin(), found_.end(), [](const Diagnosis& a, const Diagnosis& b) {
    return a.severity > b.severity;
  });
  return std::move(found_);
}

}  // namespace tare
