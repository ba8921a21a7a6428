#include "tare/search.h"

#include "calibrate/trial.h"

#include <numeric>

namespace tare {
namespace {

double total(const std::vector<double>& errors) {
  return std::accumulate(errors.begin(), errors.end(), 0.0);
}

/// The float network, in which activations can be quantized one by one.
std::map<std::string, double> activation_errors(const SimulatedGraph& simulated,
                                                const QuantTable& table,
                                                const std::set<std::string>& points,
                                                const Trial& trial) {
  const SwitchableGraph tried = switchable(simulated, {});
  std::vector<std::string> names;
  std::vector<Setting> settings;
  for (std::size_t i = 0; i < tried.points.size(); ++i) {
    if (points.contains(tried.points[i])) {
      names.push_back(tried.points[i]);
      settings.emplace_back(tried.points.size(), switch_off());
      settings.back()[i] = switch_on(table.at(tried.points[i]).params);
    }
  }
  const auto errors = trial.errors(Executable(tried.graph), settings, 0, trial.runs());
  std::map<std::string, double> result;
  for (std::size_t i = 0; i < names.size(); ++i) {
    result.emplace(names[i], total(errors[i]));
  }
  return result;
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

std::map<std::string, double> point_errors(const SimulatedGraph& simulated,
                                           const QuantTable& table,
                                           const std::set<std::string>& points,
                                           const Dataset& data, const CalibrateOptions& options,
                                           std::size_t samples) {
  const Trial trial(simulated.source, data, options, samples);
  std::map<std::string, double> result = activation_errors(simulated, table, points, trial);
  for (const QuantPoint& point : simulated.points) {
    if (point.role == Role::kWeight && points.contains(point.name)) {
      result.emplace(point.name, weight_error(simulated, table, point.name, trial));
    }
  }
  return result;
}

}  // namespace tare
