#include "tare/search.h"

#include "calibrate/trial.h"

#include <numeric>

namespace tare {
namespace {

double total(const std::vector<double>& errors) {
  return std::accumulate(errors.begin(), errors.end(), 0.0);
}

void tell(const MeasuredErrors& measured, const PointErrors& errors) {
  if (measured.more) {
    measured.more(errors);
  }
}

/// Of what was measured before, what is asked for.
PointErrors known_ones(const PointErrors& known, const std::set<std::string>& points) {
  PointErrors result;
  for (const auto& [point, error] : known) {
    if (points.contains(point)) {
      result.emplace(point, error);
    }
  }
  return result;
}

/// Activations can be quantized one by one in one network; so many are tried at once.
constexpr std::size_t kAtOnce = 32;

/// Adds the errors of activations.
void measure_activations(const SimulatedGraph& simulated, const QuantTable& table,
                         const std::set<std::string>& points, const Trial& trial,
                         const MeasuredErrors& measured, PointErrors& errors) {
  const SwitchableGraph tried = switchable(simulated, {});
  const Executable executable(tried.graph);
  std::vector<std::string> names;
  std::vector<Setting> settings;
  for (std::size_t i = 0; i < tried.points.size(); ++i) {
    const std::string& point = tried.points[i];
    if (points.contains(point) && !errors.contains(point)) {
      names.push_back(point);
      settings.emplace_back(tried.points.size(), switch_off());
      settings.back()[i] = switch_on(table.at(point).params);
    }
    if (names.size() == kAtOnce || (i + 1 == tried.points.size() && !names.empty())) {
      const auto found = trial.errors(executable, settings, 0, trial.runs());
      for (std::size_t k = 0; k < names.size(); ++k) {
        errors.emplace(names[k], total(found[k]));
      }
      tell(measured, errors);
      names.clear();
      settings.clear();
    }
  }
}

/// A weight with the biases that are corrected for it.
double weight_error(const SimulatedGraph& simulated, const QuantTable& table,
                    const std::string& weight, const Trial& trial) {
  QuantTable alone{{weight, table.at(weight)}};
  for (const QuantPoint& point : simulated.points) {
    if (point.role == Role::kAccumulator && point.weight == weight) {
      alone.emplace(point.name, table.at(point.name));
    }
  }
  const SwitchableGraph tried = switchable(simulated, alone);
  const Setting off(tried.points.size(), switch_off());
  return total(trial.errors(Executable(tried.graph), {&off, 1}, 0, trial.runs())[0]);
}

}  // namespace

PointErrors point_errors(const SimulatedGraph& simulated, const QuantTable& table,
                         const std::set<std::string>& points, const Dataset& data,
                         const CalibrateOptions& options, std::size_t samples,
                         const MeasuredErrors& measured) {
  PointErrors result = known_ones(measured.known, points);
  const Trial trial(simulated.source, data, options, samples);
  measure_activations(simulated, table, points, trial, measured, result);
  for (const QuantPoint& point : simulated.points) {
    if (point.role == Role::kWeight && points.contains(point.name) &&
        !result.contains(point.name)) {
      result.emplace(point.name, weight_error(simulated, table, point.name, trial));
      tell(measured, result);
    }
  }
  return result;
}

}  // namespace tare
