// Runs settings of a fake-quantized network on some samples and compares the results with those
// of the float network, before a last Softmax or Sigmoid: probabilities near 0 and 1 hide
// errors. The sum of squares of each result is divided by its squared magnitude over all runs,
// so that results of different units count alike.
//
// Runs are taken in the order of the van der Corput sequence (their numbers with the bits
// reversed): whoever stops after a few of them, as successive halving does, has used samples
// from all over the data. Cost: one run of the network for each setting and run; inputs and
// float results of all runs stay in memory.
#include "calibrate/selection/trial.h"

#include "base/bytes.h"
#include "base/parallel.h"
#include "execute/run/feed.h"
#include "execute/run/workers.h"
#include "graph/operators/scores.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>

namespace tare {
namespace {

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

}  // namespace

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
  own_ = own_share(runs_, communicator_);
  const std::vector<std::size_t> order = spread_order(runs_);
  inputs_.resize(own_.count());
  exact_.resize(own_.count());
  const Executable executable(judged);
  parallel_for(own_.count(), worker_count(executable, threads_),
               [&](std::size_t, std::size_t i) {
                 inputs_[i] = feed.read(order[own_.first + i] * feed.runs() / runs_);
                 exact_[i] = executable.run(inputs_[i]);
               });
  weigh_results(judged.outputs().size());
}

std::vector<std::vector<double>> Trial::errors(const Executable& fake_quantized_graph,
                                               std::span<const Setting> settings,
                                               std::size_t first, std::size_t end) const {
  const std::size_t count = end - first;
  // Of these, what this process has.
  const std::size_t begin = std::clamp(own_.first, first, end);
  const std::size_t own = std::clamp(own_.end, begin, end) - begin;
  std::vector<std::vector<double>> result(settings.size(), std::vector<double>(count));
  std::vector<std::optional<Executable::Workspace>> workspaces(
      static_cast<std::size_t>(threads_));
  const int workers = worker_count(fake_quantized_graph, threads_);
  parallel_for(settings.size() * own, workers, [&](std::size_t worker, std::size_t i) {
    auto& workspace = workspaces[worker];
    if (!workspace) {
      workspace.emplace(fake_quantized_graph);
    }
    const std::size_t run = begin + i % own;
    std::vector<Tensor> inputs = inputs_[run - own_.first];
    const Setting& setting = settings[i / own];
    inputs.insert(inputs.end(), setting.begin(), setting.end());
    const std::vector<Tensor> results = fake_quantized_graph.run(*workspace, inputs);
    for (std::size_t k = 0; k < results.size(); ++k) {
      if (weights_[k] > 0) {
        result[i / own][run - first] +=
            weights_[k] * squared_distance(results[k], exact_[run - own_.first][k]);
      }
    }
  });
  if (communicator_ != nullptr) {
    share(first, end, result);
  }
  return result;
}

void Trial::share(std::size_t first, std::size_t end,
                  std::vector<std::vector<double>>& errors) const {
  const auto part = [&](int rank) {
    const Share all = share_of(runs_, communicator_, rank);
    const std::size_t begin = std::clamp(all.first, first, end);
    return Share{begin - first, std::clamp(all.end, begin, end) - first};
  };
  const Share own = part(communicator_->rank());
  ByteWriter writer;
  for (const std::vector<double>& of_runs : errors) {
    writer.add_all(std::span<const double>(of_runs).subspan(own.first, own.count()));
  }
  const std::vector<std::string> all = communicator_->gather(writer.take());
  for (int rank = 0; rank < communicator_->count(); ++rank) {
    ByteReader reader(all[static_cast<std::size_t>(rank)]);
    for (std::vector<double>& of_runs : errors) {
      const std::vector<double> theirs = reader.get_all<double>();
      std::copy(theirs.begin(), theirs.end(),
                of_runs.begin() + static_cast<std::ptrdiff_t>(part(rank).first));
    }
  }
}

void Trial::weigh_results(std::size_t results) {
  // For each result, its squared magnitude in each run.
  std::vector<std::vector<double>> magnitudes(results, std::vector<double>(runs_));
  for (std::size_t i = 0; i < exact_.size(); ++i) {
    for (std::size_t k = 0; k < results; ++k) {
      const Tensor& result = exact_[i][k];
      magnitudes[k][own_.first + i] =
          result.dtype() == DType::kFloat32
              ? squared_distance(result, Tensor(DType::kFloat32, result.shape()))
              : 0;
    }
  }
  if (communicator_ != nullptr) {
    share(0, runs_, magnitudes);
  }
  for (const std::vector<double>& of_runs : magnitudes) {
    const double magnitude = std::accumulate(of_runs.begin(), of_runs.end(), 0.0);
    weights_.push_back(magnitude > 0 ? 1 / magnitude : 0);
  }
}

}  // namespace tare
