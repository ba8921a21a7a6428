#include "calibrate/trial.h"

#include "tare/execute.h"

#include "base/parallel.h"
#include "execute/feed.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>

namespace tare {
namespace {

constexpr std::size_t kRuns = 128;
/// Runs on which a candidate must not lose to be tried on all.
constexpr std::size_t kHeat = 16;
constexpr std::size_t kGroups = 32;

/// Parameters of all points of a switchable graph.
using Setting = std::vector<Tensor>;

/// The graph with what its Softmax reads in place of an output that is merely a Softmax.
Graph before_softmax(Graph graph) {
  std::vector<ValueId> results(graph.outputs().begin(), graph.outputs().end());
  for (ValueId& result : results) {
    ValueId value = result;
    for (auto id = graph.producer(value); id; id = graph.producer(value)) {
      const Node& node = graph.node(*id);
      value = node.inputs[0];
      if (node.op == "Softmax" || node.op == "LogSoftmax") {
        result = value;
      }
      if (node.op != "Reshape" && node.op != "Flatten") {
        break;
      }
    }
  }
  graph.set_outputs(results);
  return graph;
}

double squared_distance(const Tensor& a, const Tensor& b) {
  double sum = 0;
  const auto x = a.view<float>();
  const auto y = b.view<float>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double off = static_cast<double>(x[i]) - static_cast<double>(y[i]);
    sum += off * off;
  }
  return sum;
}

/// Some samples, and what the float network makes of them.
class Trial {
 public:
  Trial(const SimulatedGraph& simulated, const Graph& switchable, const Dataset& data,
        const CalibrateOptions& options)
      : executable_(before_softmax(switchable)),
        workspaces_(static_cast<std::size_t>(thread_count(options.threads))) {
    const Feed feed(simulated.source, data, options.samples);
    const std::size_t count = std::min(kRuns, feed.runs());
    // The first of them are spread over the data too.
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_partition(order.begin(), order.end(),
                          [](std::size_t i) { return i % (kRuns / kHeat) == 0; });
    inputs_.resize(count);
    exact_.resize(count);
    const Executable source(before_softmax(simulated.source));
    parallel_for(count, threads(), [&](std::size_t, std::size_t i) {
      inputs_[i] = feed.read(order[i] * feed.runs() / count);
      exact_[i] = source.run(inputs_[i]);
    });
    weigh_results();
  }

  std::size_t runs() const { return inputs_.size(); }

  /// For each setting and each of the runs [first, end): the squared error of the results over
  /// their squared magnitude in all runs.
  std::vector<std::vector<double>> errors(std::span<const Setting> settings, std::size_t first,
                                          std::size_t end) {
    const std::size_t count = end - first;
    std::vector<std::vector<double>> result(settings.size(), std::vector<double>(count));
    parallel_for(settings.size() * count, threads(), [&](std::size_t worker, std::size_t i) {
      auto& workspace = workspaces_[worker];
      if (!workspace) {
        workspace.emplace(executable_);
      }
      const std::size_t run = first + i % count;
      std::vector<Tensor> inputs = inputs_[run];
      const Setting& setting = settings[i / count];
      inputs.insert(inputs.end(), setting.begin(), setting.end());
      const std::vector<Tensor> results = executable_.run(*workspace, inputs);
      for (std::size_t k = 0; k < results.size(); ++k) {
        if (weights_[k] > 0) {
          result[i / count][i % count] +=
              weights_[k] * squared_distance(results[k], exact_[run][k]);
        }
      }
    });
    return result;
  }

 private:
  int threads() const { return static_cast<int>(workspaces_.size()); }

  void weigh_results() {
    weights_.resize(exact_.front().size());
    for (std::size_t k = 0; k < weights_.size(); ++k) {
      double magnitude = 0;
      for (const std::vector<Tensor>& results : exact_) {
        const Tensor& result = results[k];
        magnitude += result.dtype() == DType::kFloat32
                         ? squared_distance(result, Tensor(DType::kFloat32, result.shape()))
                         : 0;
      }
      weights_[k] = magnitude > 0 ? 1 / magnitude : 0;
    }
  }

  Executable executable_;
  std::vector<std::optional<Executable::Workspace>> workspaces_;
  std::vector<std::vector<Tensor>> inputs_;
  std::vector<std::vector<Tensor>> exact_;
  std::vector<double> weights_;  ///< of each result
};

/// Looks for the choice of candidates with the least error.
class Search {
 public:
  Search(const TableDraft& draft, const SwitchableGraph& graph, Trial& trial)
      : draft_(draft), graph_(graph), trial_(trial) {
    for (std::size_t i = 0; i < graph.points.size(); ++i) {
      best_.push_back(switch_on(draft.table.at(graph.points[i]).params));
      const auto found = draft.candidates.find(graph.points[i]);
      if (found != draft.candidates.end()) {
        open_.push_back(i);
        most_ = std::max(most_, found->second.size());
      }
    }
    chosen_.resize(graph.points.size());
  }

  /// Index of a candidate for each point of the graph; 0 for those that have none.
  std::vector<std::size_t> run() {
    errors_ = trial_.errors({&best_, 1}, 0, trial_.runs()).front();
    exchange(open_);
    const std::size_t size = (open_.size() + kGroups - 1) / kGroups;
    for (std::size_t first = 0; first < open_.size() && most_ > 1; first += size) {
      exchange(std::span(open_).subspan(first, std::min(size, open_.size() - first)));
    }
    return chosen_;
  }

 private:
  struct Exchange {
    std::size_t choice;
    Setting setting;
    std::vector<double> errors;
  };

  static double sum(std::span<const double> errors) {
    return std::accumulate(errors.begin(), errors.end(), 0.0);
  }

  const std::vector<PointResult>& candidates(std::size_t point) const {
    return draft_.candidates.at(graph_.points[point]);
  }

  Setting with(std::span<const std::size_t> points, std::size_t choice) const {
    Setting setting = best_;
    for (const std::size_t i : points) {
      const auto& all = candidates(i);
      setting[i] = switch_on(all[std::min(choice, all.size() - 1)].params);
    }
    return setting;
  }

  /// Gives the points another candidate, all of them the same one, where that is better.
  void exchange(std::span<const std::size_t> points) {
    std::vector<Exchange> exchanges;
    for (std::size_t choice = 0; choice < most_; ++choice) {
      Setting setting = with(points, choice);
      const bool known = setting == best_ ||
                         std::any_of(exchanges.begin(), exchanges.end(),
                                     [&](const Exchange& e) { return e.setting == setting; });
      if (!known) {
        exchanges.push_back({choice, std::move(setting), {}});
      }
    }
    const std::size_t heat = std::min(kHeat, trial_.runs());
    measure(exchanges, 0, heat);
    // What loses clearly on some runs will not win on all.
    constexpr double kClearly = 1.02;
    const double least = sum(std::span(errors_).first(heat)) * kClearly;
    std::erase_if(exchanges, [&](const Exchange& e) { return sum(e.errors) > least; });
    measure(exchanges, heat, trial_.runs());
    for (const Exchange& e : exchanges) {
      // Less is chance.
      constexpr double kWorthwhile = 0.999;
      if (sum(e.errors) < kWorthwhile * sum(errors_)) {
        best_ = e.setting;
        errors_ = e.errors;
        for (const std::size_t i : points) {
          chosen_[i] = std::min(e.choice, candidates(i).size() - 1);
        }
      }
    }
  }

  void measure(std::vector<Exchange>& exchanges, std::size_t first, std::size_t end) {
    std::vector<Setting> settings;
    for (const Exchange& e : exchanges) {
      settings.push_back(e.setting);
    }
    const auto errors = trial_.errors(settings, first, end);
    for (std::size_t i = 0; i < exchanges.size(); ++i) {
      exchanges[i].errors.insert(exchanges[i].errors.end(), errors[i].begin(), errors[i].end());
    }
  }

  const TableDraft& draft_;
  const SwitchableGraph& graph_;
  Trial& trial_;
  std::vector<std::size_t> open_;  ///< points with candidates
  std::size_t most_ = 0;           ///< candidates of one point
  Setting best_;
  std::vector<double> errors_;  ///< of the best setting, by run
  std::vector<std::size_t> chosen_;
};

}  // namespace

void TableDraft::add(const std::string& point, std::vector<PointResult> results) {
  table.emplace(point, results.front());
  if (results.size() > 1) {
    candidates.emplace(point, std::move(results));
  }
}

QuantTable settle(const SimulatedGraph& simulated, TableDraft draft, const Dataset& data,
                  const CalibrateOptions& options) {
  if (draft.candidates.empty()) {
    return std::move(draft.table);
  }
  const SwitchableGraph graph = switchable(simulated, draft.table);
  Trial trial(simulated, graph.graph, data, options);
  const std::vector<std::size_t> chosen = Search(draft, graph, trial).run();
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const auto found = draft.candidates.find(graph.points[i]);
    if (found != draft.candidates.end()) {
      draft.table.at(graph.points[i]) = found->second[chosen[i]];
    }
  }
  std::vector<const QuantPoint*> accumulators;
  for (const QuantPoint& point : simulated.points) {
    if (point.role == Role::kAccumulator) {
      accumulators.push_back(&point);
    }
  }
  derive_accumulators(simulated, accumulators, draft.means, draft.table);
  return std::move(draft.table);
}

}  // namespace tare
