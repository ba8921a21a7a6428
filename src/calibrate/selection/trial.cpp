// Runs settings of a fake-quantized network on some samples and compares the results with those
// of the float network, before a last Softmax or Sigmoid: probabilities near 0 and 1 hide
// errors. The sum of squares of each result is divided by its squared magnitude over all runs,
// so that results of different units count alike.
//
// Runs are taken in the order of the van der Corput sequence (their numbers with the bits
// reversed): whoever stops after a few of them, as successive halving does, has used samples
// from all over the data. Settings mostly differ in few points, and what lies before these is
// computed once for all of them (execute/run/paused_run.h). Cost: for each setting and run the
// part of the network from the first point in which it differs from most settings; inputs and
// float results of all runs stay in memory, and each thread has two workspaces.
#include "calibrate/selection/trial.h"

#include "base/bytes.h"
#include "base/parallel.h"
#include "execute/run/feed.h"
#include "execute/run/workers.h"
#include "graph/arithmetic/squared_distance.h"
#include "graph/operators/product.h"
#include "graph/operators/scores.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <utility>

namespace tare {
namespace {

/// The numbers below `count` in an order in which the first ones are far apart: by their bits
/// read from the lowest to the highest.
std::vector<std::size_t> spread_order(std::size_t count) {
  const auto bits = static_cast<unsigned>(std::bit_width(count));
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < std::size_t{1} << bits; ++i) {
    std::size_t reversed = 0;
    for (unsigned bit = 0; bit < bits; ++bit) {
      reversed |= (i >> bit & 1U) << (bits - 1 - bit);
    }
    if (reversed < count) {
      order.push_back(reversed);
    }
  }
  return order;
}

/// A range that clips does harm in few samples, which 128 may not hold: up to 512 of them,
/// with errors counted as they are, gain 0.3 to 1 dB on four networks
/// (docs/decisions/0026-auto-counts-errors-as-they-are.md). Inputs stay in memory, so large
/// ones are content with fewer.
std::size_t enough_runs(const Graph& source) {
  constexpr std::size_t kFewRuns = 128;
  constexpr std::size_t kEnoughRuns = 512;
  constexpr std::size_t kInputBytes = std::size_t{256} << 20U;
  std::size_t bytes_of_run = 1;
  for (const ValueId input : source.inputs()) {
    const TensorType& type = source.type(input);
    bytes_of_run += static_cast<std::size_t>(element_count(type.shape)) * size_of(type.dtype);
  }
  return std::clamp(kInputBytes / bytes_of_run, kFewRuns, kEnoughRuns);
}

/// What most of them have of each point, where most have the same (Boyer and Moore, "A Fast
/// Majority Vote Algorithm", 1981).
Setting most_common(std::span<const Setting> settings) {
  Setting result = settings[0];
  for (std::size_t point = 0; point < result.size(); ++point) {
    std::size_t votes = 0;
    for (const Setting& setting : settings) {
      if (votes == 0) {
        result[point] = setting[point];
      }
      if (setting[point] == result[point]) {
        ++votes;
      } else {
        --votes;
      }
    }
  }
  return result;
}

/// Some settings in the order of the network, by the first step that each differs in.
template <class InputsOf>
std::vector<std::size_t> by_first_difference(const PausedRun& usual,
                                             const Executable& executable,
                                             std::span<const Setting> settings,
                                             std::span<const std::size_t> trials,
                                             const InputsOf& inputs_of) {
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (const std::size_t i : trials) {
    places.emplace_back(usual.first_difference(executable, inputs_of(settings[i])), i);
  }
  std::sort(places.begin(), places.end());
  std::vector<std::size_t> result;
  for (const auto& place : places) {
    result.push_back(place.second);
  }
  return result;
}

/// Of the numbers [first, end), those of process `rank` of `count` that take them in turn.
std::vector<std::size_t> in_turn(int rank, int count, std::size_t first, std::size_t end) {
  std::vector<std::size_t> result;
  for (auto i = static_cast<std::size_t>(rank); i < end; i += static_cast<std::size_t>(count)) {
    if (i >= first) {
      result.push_back(i);
    }
  }
  return result;
}

}  // namespace

Branch quantized_network(const SimulatedGraph& simulated, const QuantTable& table,
                         int threads) {
  const FakeQuantizedGraph network = fake_quantized_graph(simulated, table, threads);
  Setting setting;
  for (const std::string& point : network.points) {
    const auto found = table.find(point);
    setting.push_back(found == table.end() || !found->second.enabled
                          ? disabled_point()
                          : enabled_point(found->second.params));
  }
  return {Executable(network.graph, {.threads = threads}), std::move(setting)};
}

std::size_t runs_within(double multiplications, const Graph& graph, std::size_t least,
                        std::size_t most) {
  const double runs = multiplications / std::max(tare::multiplications(graph), 1.0);
  return runs >= static_cast<double>(most) ? most
                                           : std::max(static_cast<std::size_t>(runs), least);
}

Trial::Trial(const Graph& source, const Dataset& data, const CalibrateOptions& options)
    : Trial(source, data, options, enough_runs(source)) {}

Trial::Trial(const Graph& source, const Dataset& data, const CalibrateOptions& options,
             std::size_t at_most)
    : Trial(source, up_to_scores(source), data, options, at_most) {}

Trial::Trial(const Graph& source, const Graph& judged, const Dataset& data,
             const CalibrateOptions& options, std::size_t at_most)
    : threads_(thread_count(options.threads)), communicator_(options.communicator) {
  const Feed feed(source, data, options.samples, options.first);
  runs_ = std::min(at_most, feed.runs());
  own_ = runs_of(own_rank(), 0, runs_);
  const std::vector<std::size_t> order = spread_order(runs_);
  inputs_.resize(own_.size());
  exact_.resize(own_.size());
  const Executable executable(judged, {.threads = threads_});
  parallel_for(own_.size(), worker_count(executable, threads_),
               [&](std::size_t, std::size_t i) {
                 inputs_[i] = feed.read(order[own_[i]] * feed.runs() / runs_);
                 exact_[i] = executable.run(inputs_[i]);
               });
  weigh_results(judged.outputs().size());
}

bool Trial::shares_trials() const {
  return communicator_ != nullptr && runs_ < static_cast<std::size_t>(communicator_->count());
}

// In turn, so that processes have equal shares of any first runs.
std::vector<std::size_t> Trial::runs_of(int rank, std::size_t first, std::size_t end) const {
  const bool has_all = communicator_ == nullptr || shares_trials();
  return has_all ? in_turn(0, 1, first, end)
                 : in_turn(rank, communicator_->count(), first, end);
}

// In turn as well: settings that differ early in the network, whose trials take longest, are
// often neighbours.
std::vector<std::size_t> Trial::trials_of(int rank, std::size_t count) const {
  return shares_trials() ? in_turn(rank, communicator_->count(), 0, count)
                         : in_turn(0, 1, 0, count);
}

std::vector<Tensor> Trial::inputs(std::size_t own_run, const Setting& setting) const {
  std::vector<Tensor> result = inputs_[own_run];
  result.insert(result.end(), setting.begin(), setting.end());
  return result;
}

double Trial::error(std::size_t own_run, std::span<const Tensor> results) const {
  double sum = 0;
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (weights_[k] > 0) {
      sum += weights_[k] * squared_distance(results[k], exact_[own_run][k]);
    }
  }
  return sum;
}

std::vector<std::vector<double>> Trial::errors(const Executable& fake_quantized_graph,
                                               std::span<const Setting> settings,
                                               std::size_t first, std::size_t end) const {
  // Of these, what this process has.
  const auto begin = std::lower_bound(own_.begin(), own_.end(), first);
  const auto own = static_cast<std::size_t>(std::lower_bound(begin, own_.end(), end) - begin);
  std::vector<std::vector<double>> result(settings.size(), std::vector<double>(end - first));
  struct Worker {
    std::size_t run;
    PausedRun paused;
    std::optional<Executable::Workspace> workspace{};
  };
  std::vector<std::optional<Worker>> all(static_cast<std::size_t>(threads_));
  const std::vector<std::size_t> trials = trials_of(own_rank(), settings.size());
  if (own > 0 && !trials.empty()) {
    const Setting usual = most_common(settings);
    const std::vector<std::size_t> order = by_first_difference(
        PausedRun(fake_quantized_graph, inputs(0, usual)), fake_quantized_graph, settings,
        trials, [&](const Setting& setting) { return inputs(0, setting); });
    // Run by run, so that each thread goes through the network once for each.
    parallel_for(
        trials.size() * own, worker_count(fake_quantized_graph, threads_),
        [&](std::size_t worker, std::size_t i) {
          const auto own_run =
              static_cast<std::size_t>(begin - own_.begin()) + i / trials.size();
          const std::size_t run = own_[own_run];
          const std::size_t setting = order[i % trials.size()];
          std::optional<Worker>& state = all[worker];
          if (!state) {
            state.emplace(Worker{run, PausedRun(fake_quantized_graph, inputs(own_run, usual))});
          } else if (state->run != run) {
            state->run = run;
            state->paused.restart(inputs(own_run, usual));
          }
          result[setting][run - first] =
              error(own_run, state->paused.results(fake_quantized_graph, state->workspace,
                                                   inputs(own_run, settings[setting])));
        });
  }
  if (communicator_ != nullptr) {
    share(first, end, result);
  }
  return result;
}

std::vector<PausedRun>& Trial::start(PausedTrial& paused, std::size_t thread) const {
  std::vector<PausedRun>& runs = paused.runs[thread];
  for (std::size_t i = runs.size(); i < own_.size(); ++i) {
    runs.emplace_back(*paused.executable, inputs(i, paused.setting));
  }
  return runs;
}

/// One, where there are runs enough for all threads, which have two workspaces for each.
int Trial::threads_with_branches(const PausedTrial& paused) const {
  if (own_.empty() || own_.size() >= static_cast<std::size_t>(threads_)) {
    return 1;
  }
  return std::max(1,
                  worker_count(*paused.executable, threads_) / static_cast<int>(own_.size()));
}

std::vector<std::vector<double>> Trial::errors(
    PausedTrial& paused, std::size_t branches,
    const std::function<Branch(std::size_t)>& branch) const {
  std::vector<std::vector<double>> result(branches, std::vector<double>(runs_));
  const int side_by_side = threads_with_branches(paused);
  paused.runs.resize(static_cast<std::size_t>(threads_));
  const std::vector<std::size_t> trials = trials_of(own_rank(), branches);
  parallel_for(
      own_.empty() ? 0 : trials.size(), side_by_side, [&](std::size_t thread, std::size_t n) {
        const std::size_t b = trials[n];
        const Branch own = branch(b);
        std::vector<PausedRun>& runs = start(paused, thread);
        const int threads = side_by_side > 1 ? 1 : worker_count(own.executable, threads_);
        std::vector<std::optional<Executable::Workspace>> workspaces(
            static_cast<std::size_t>(threads));
        parallel_for(own_.size(), threads, [&](std::size_t worker, std::size_t i) {
          result[b][own_[i]] = error(
              i, runs[i].results(own.executable, workspaces[worker], inputs(i, own.setting)));
        });
      });
  if (communicator_ != nullptr) {
    share(0, runs_, result);
  }
  return result;
}

void Trial::share(std::size_t first, std::size_t end,
                  std::vector<std::vector<double>>& errors) const {
  // Calls take() for what a process has, in the order in which it tells it.
  const auto for_each_of = [&](int rank, const auto& take) {
    for (const std::size_t i : trials_of(rank, errors.size())) {
      for (const std::size_t run : runs_of(rank, first, end)) {
        take(errors[i][run - first]);
      }
    }
  };
  ByteWriter writer;
  for_each_of(communicator_->rank(), [&](double error) { writer.add(error); });
  const std::vector<std::string> all = communicator_->gather(writer.take(), Message::kErrors);
  for (int rank = 0; rank < communicator_->count(); ++rank) {
    ByteReader reader(all[static_cast<std::size_t>(rank)]);
    for_each_of(rank, [&](double& error) { error = reader.get<double>(); });
  }
}

void Trial::weigh_results(std::size_t results) {
  // For each result, its squared magnitude in each run.
  std::vector<std::vector<double>> magnitudes(results, std::vector<double>(runs_));
  for (std::size_t i = 0; i < exact_.size(); ++i) {
    for (std::size_t k = 0; k < results; ++k) {
      const Tensor& result = exact_[i][k];
      magnitudes[k][own_[i]] =
          result.dtype() == DType::kFloat32
              ? squared_distance(result, Tensor(DType::kFloat32, result.shape()))
              : 0;
    }
  }
  if (communicator_ != nullptr && !shares_trials()) {  // else all are here
    share(0, runs_, magnitudes);
  }
  for (const std::vector<double>& of_runs : magnitudes) {
    const double magnitude = std::accumulate(of_runs.begin(), of_runs.end(), 0.0);
    weights_.push_back(magnitude > 0 ? 1 / magnitude : 0);
  }
}

}  // namespace tare
