// The sensitivity of the results to each point: the error when it alone is quantized, as in the
// sensitivity analysis of layers by Wu, Judd, Zhang, Isaev and Micikevicius ("Integer
// Quantization for Deep Learning Inference: Principles and Empirical Evaluation", 2020). Errors
// are those of the results and not of the layer, as only the rest of the network knows which
// ones matter. Activations are switched on and off by parameters that are inputs of one
// compiled network, weights by exchanging its constants, so nothing is compiled twice but what
// reads a weight. What lies before a point is computed once for those behind it.
//
// Cost for n points and s samples: n s runs of half a network, on average, that is itself as
// long as n, up to 480 points. Of more, neighbours are measured together, and halved where the
// error is largest: 32 to 192 trials in all, by the number of samples, so at most s times 192
// runs.
#include "search/sensitivities.h"

#include "tare/simulate.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

namespace tare {
namespace {

double total(const std::vector<double>& errors) {
  return std::accumulate(errors.begin(), errors.end(), 0.0);
}

void tell(const MeasuredSensitivities& measured, const Sensitivities& errors) {
  if (measured.more) {
    measured.more(errors);
  }
}

/// Of what was measured before, what is asked for.
Sensitivities known_ones(const Sensitivities& known, const std::set<std::string>& points) {
  Sensitivities result;
  for (const auto& [point, error] : known) {
    if (points.contains(point)) {
      result.emplace(point, error);
    }
  }
  return result;
}

/// Up to so many points each is tried alone. A detector of a hundred convolutions has fewer.
constexpr std::size_t kAlone = 480;
/// Of more points neighbours are tried together, so many times in all: what all trials cost
/// grows with the network, not with its square. Few samples tell too little of an error to be
/// worth trials that take many times what calibrating on them does.
std::size_t trials_worth(std::size_t samples) {
  constexpr std::size_t kFewest = 32;
  constexpr std::size_t kMost = 192;
  return std::clamp(4 * samples, kFewest, kMost);
}
/// So many settings of one network are tried at once: threads stay busy, and a search that is
/// interrupted loses no more than these.
constexpr std::size_t kAtOnce = 32;
/// Of weights, each of which is packed anew, as many as take so many runs.
constexpr std::size_t kRunsAtOnce = 16;

/// The network in float, of which some points can be quantized.
class Probe {
 public:
  Probe(const SimulatedGraph& simulated, const QuantTable& table, const Trial& trial)
      : table_(table),
        trial_(trial),
        network_(fake_quantized_graph(simulated, {}, trial.threads())),
        executable_(network_.graph, {.threads = trial.threads()}) {
    real_ = {.executable = &executable_, .setting = only({})};
    for (std::size_t i = 0; i < network_.points.size(); ++i) {
      inputs_of_points_.emplace(network_.points[i], i);
    }
    // A weight goes with the biases that are corrected for it.
    for (const auto& [name, value] : network_.constants) {
      const QuantPoint& point = *simulated.find(name);
      constants_[point.role == Role::kAccumulator ? point.weight : name].push_back(
          {&point, value});
    }
  }

  /// Activations that can be quantized, in the order of the network.
  const std::vector<std::string>& activations() const { return network_.points; }
  bool has(const std::string& point) const {
    return inputs_of_points_.contains(point) || constants_.contains(point);
  }

  std::size_t runs() const { return std::max<std::size_t>(trial_.runs(), 1); }

  /// What each of some activations does alone.
  std::vector<double> each(std::span<const std::string> activations) const {
    std::vector<Setting> settings;
    for (const std::string& point : activations) {
      settings.push_back(only({&point, 1}));
    }
    std::vector<double> result;
    for (const auto& errors : trial_.errors(executable_, settings, 0, trial_.runs())) {
      result.push_back(total(errors));
    }
    return result;
  }

  using Points = std::span<const std::string>;

  /// What the activations and weights of each of some groups do together.
  std::vector<double> together(std::span<const Points> groups) {
    std::vector<double> result;
    for (const auto& errors : trial_.errors(
             real_, groups.size(), [&](std::size_t group) { return branch(groups[group]); })) {
      result.push_back(total(errors));
    }
    return result;
  }

 private:
  struct Constant {
    const QuantPoint* point;
    ValueId value;
  };

  Setting only(std::span<const std::string> points) const {
    Setting setting(network_.points.size(), disabled_point());
    for (const std::string& point : points) {
      if (const auto found = inputs_of_points_.find(point); found != inputs_of_points_.end()) {
        setting[found->second] = enabled_point(table_.at(point).params);
      }
    }
    return setting;
  }

  /// With these points quantized.
  Branch branch(Points points) const {
    Graph graph = network_.graph;
    std::vector<Exchange> exchanges;
    for (const std::string& name : points) {
      const auto found = constants_.find(name);
      for (const auto& [point, value] :
           found == constants_.end() ? std::vector<Constant>{} : found->second) {
        const ValueId after =
            graph.add_constant(graph.unique_name(graph.name(value)),
                               after_quantization(*graph.constant(value), *point, table_));
        graph.replace_uses(value, after);
        exchanges.push_back({value, after});
      }
    }
    return {executable_.exchanged(graph, exchanges), only(points)};
  }

  const QuantTable& table_;
  const Trial& trial_;
  FakeQuantizedGraph network_;
  Executable executable_;
  std::map<std::string, std::size_t> inputs_of_points_;
  std::map<std::string, std::vector<Constant>> constants_;  ///< by weight
  PausedTrial real_;                                        ///< of nothing quantized
};

/// Adds the error of each point.
void measure_alone(const SimulatedGraph& simulated, const std::set<std::string>& points,
                   const MeasuredSensitivities& measured, Probe& probe, Sensitivities& errors) {
  const auto measure = [&](std::span<const std::string> all, std::size_t at_once,
                           const auto& errors_of) {
    for (std::size_t first = 0; first < all.size(); first += at_once) {
      const auto some = all.subspan(first, std::min(at_once, all.size() - first));
      const std::vector<double> found = errors_of(some);
      for (std::size_t i = 0; i < some.size(); ++i) {
        errors.emplace(some[i], found[i]);
      }
      tell(measured, errors);
    }
  };
  std::vector<std::string> activations;
  for (const std::string& point : probe.activations()) {
    if (points.contains(point) && !errors.contains(point)) {
      activations.push_back(point);
    }
  }
  measure(activations, kAtOnce,
          [&](std::span<const std::string> some) { return probe.each(some); });
  std::vector<std::string> weights;
  for (const QuantPoint& point : simulated.points) {
    if (point.role == Role::kWeight && points.contains(point.name) &&
        !errors.contains(point.name)) {
      weights.push_back(point.name);
    }
  }
  const std::size_t at_once = std::max<std::size_t>(kRunsAtOnce / probe.runs(), 1);
  measure(weights, at_once, [&](std::span<const std::string> some) {
    std::vector<Probe::Points> alone;
    for (const std::string& weight : some) {
      alone.emplace_back(&weight, 1);
    }
    return probe.together(alone);
  });
}

/// Neighbouring points and their error together.
struct Group {
  Probe::Points points;
  double error;
};

/// Adds a share of the error of its group for each point: of smaller and smaller groups where
/// the errors are largest.
void measure_groups(std::span<const std::string> points, std::size_t most, Probe& probe,
                    Sensitivities& errors) {
  const auto can_wait = [](const Group& a, const Group& b) {
    const bool a_is_one = a.points.size() == 1;
    const bool b_is_one = b.points.size() == 1;
    return a_is_one != b_is_one ? a_is_one : a.error < b.error;
  };
  std::vector<Group> groups;  // a heap, on top of which is what to part next
  const auto measure = [&](std::span<const Probe::Points> some) {
    const std::vector<double> found = probe.together(some);
    for (std::size_t i = 0; i < some.size(); ++i) {
      groups.push_back({some[i], found[i]});
      std::push_heap(groups.begin(), groups.end(), can_wait);
    }
  };
  const std::size_t at_first = most / 2;
  std::vector<Probe::Points> parts;
  for (std::size_t i = 0; i < at_first; ++i) {
    const std::size_t first = points.size() * i / at_first;
    const std::size_t end = points.size() * (i + 1) / at_first;
    parts.push_back(points.subspan(first, end - first));
  }
  measure(parts);
  for (std::size_t trials = at_first; trials < most; trials += 2) {
    std::pop_heap(groups.begin(), groups.end(), can_wait);
    const Probe::Points whole = groups.back().points;
    groups.pop_back();
    const std::size_t half = whole.size() / 2;
    measure(std::array{whole.first(half), whole.subspan(half)});
  }
  for (const Group& group : groups) {
    for (const std::string& point : group.points) {
      errors.emplace(point, group.error / static_cast<double>(group.points.size()));
    }
  }
}

}  // namespace

Sensitivities sensitivities(const SimulatedGraph& simulated, const QuantTable& table,
                            const std::set<std::string>& points, const Dataset& data,
                            const CalibrateOptions& options, std::size_t samples,
                            const MeasuredSensitivities& measured) {
  Sensitivities result = known_ones(measured.known, points);
  const Trial trial(simulated.source, data, options, samples);
  Probe probe(simulated, table, trial);
  std::vector<std::string> all;
  for (const QuantPoint& point : simulated.points) {
    if (points.contains(point.name) && probe.has(point.name)) {
      all.push_back(point.name);
    }
  }
  if (all.size() <= kAlone) {
    measure_alone(simulated, points, measured, probe, result);
  } else if (result.size() < all.size()) {
    // Groups are the same whatever of them is known already.
    result.clear();
    const std::size_t used = options.samples == 0 ? data.size() : options.samples;
    measure_groups(all, trials_worth(used), probe, result);
    tell(measured, result);
  }
  return result;
}

double error_together(const SimulatedGraph& simulated, const QuantTable& table,
                      const Trial& trial) {
  const Branch network = quantized_network(simulated, table, trial.threads());
  const auto outputs = simulated.source.outputs();
  const auto real = std::count_if(outputs.begin(), outputs.end(), [&](ValueId id) {
    return simulated.source.type(id).dtype == DType::kFloat32;
  });
  return total(trial.errors(network.executable, {&network.setting, 1}, 0, trial.runs())[0]) /
         static_cast<double>(std::max<std::ptrdiff_t>(real, 1));
}

}  // namespace tare
