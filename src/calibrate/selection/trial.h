#pragma once

#include "tare/dataset.h"
#include "tare/execute.h"
#include "tare/statistics.h"

#include "calibrate/statistics/shares.h"
#include "execute/run/paused_run.h"
#include "simulate/fake_quantized.h"

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace tare {

/// Parameters of all points of a FakeQuantizedGraph.
using Setting = std::vector<Tensor>;

/// A setting and the executable that it is tried in.
struct Branch {
  Executable executable;
  Setting setting;
};
/// With all points quantized that have parameters. What the graph holds, a second copy of the
/// weights, is gone when it returns.
Branch quantized_network(const SimulatedGraph&, const QuantTable&, int threads);

/// The runs of a trial of one setting, from which those of branches go on: one of each run for
/// each thread that has needed them. The executable has to outlive it.
struct PausedTrial {
  const Executable* executable = nullptr;
  Setting setting;
  std::vector<std::vector<PausedRun>> runs{};  ///< by thread
};

/// As many runs of a network as take so many multiplications, between `least` and `most`: a run
/// of a large network tells as much as many runs of a small one, and takes as long.
std::size_t runs_within(double multiplications, const Graph&, std::size_t least,
                        std::size_t most);

/// Some samples spread over the data, and what the float network makes of them.
class Trial {
 public:
  /// On as many runs as tell of what is rare: up to 512, and over 128 only as long as their
  /// inputs take up to 256 MiB.
  Trial(const Graph& source, const Dataset&, const CalibrateOptions&);
  Trial(const Graph& source, const Dataset&, const CalibrateOptions&, std::size_t at_most);
  /// The same with results of another network of the same inputs: the whole one, say.
  Trial(const Graph& source, const Graph& judged, const Dataset&, const CalibrateOptions&,
        std::size_t at_most);

  std::size_t runs() const { return runs_; }
  int threads() const { return threads_; }

  /// For each setting and each of the runs [first, end): the squared error of the results of a
  /// fake-quantized graph, each over the squared magnitude of that result in all runs. Any
  /// number of first runs are spread over the data.
  std::vector<std::vector<double>> errors(const Executable& fake_quantized_graph,
                                          std::span<const Setting> settings, std::size_t first,
                                          std::size_t end) const;

  /// The errors of all runs of each of some branches, exchanged() from that executable, which
  /// threads make when they need them: where there are fewer runs than threads, each thread has
  /// branches of its own.
  std::vector<std::vector<double>> errors(PausedTrial&, std::size_t branches,
                                          const std::function<Branch(std::size_t)>&) const;

 private:
  /// Where there are fewer runs than processes, each has all runs and its share of what is
  /// tried on them.
  bool shares_trials() const;
  /// What a process tries of so many: all where it has its share of the runs.
  std::vector<std::size_t> trials_of(int rank, std::size_t count) const;
  /// Which of the runs [first, end) a process has.
  std::vector<std::size_t> runs_of(int rank, std::size_t first, std::size_t end) const;
  std::vector<Tensor> inputs(std::size_t own_run, const Setting&) const;
  double error(std::size_t own_run, std::span<const Tensor> results) const;
  std::vector<PausedRun>& start(PausedTrial&, std::size_t thread) const;
  int threads_with_branches(const PausedTrial&) const;
  void weigh_results(std::size_t results);
  /// Fills in what other processes have, in each row of the runs [first, end); rows are those
  /// of what is tried.
  void share(std::size_t first, std::size_t end, std::vector<std::vector<double>>& rows) const;

  int own_rank() const { return communicator_ == nullptr ? 0 : communicator_->rank(); }

  int threads_;
  Communicator* communicator_;
  std::size_t runs_ = 0;
  std::vector<std::size_t> own_;             ///< runs of this process, in ascending order
  std::vector<std::vector<Tensor>> inputs_;  ///< of these
  std::vector<std::vector<Tensor>> exact_;
  std::vector<double> weights_;  ///< of each result
};

}  // namespace tare
