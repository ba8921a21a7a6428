#pragma once

#include "tare/calibrator.h"
#include "tare/execute.h"

#include <cstddef>
#include <span>
#include <vector>

namespace tare {

/// Parameters of all points of a SwitchableGraph.
using Setting = std::vector<Tensor>;

/// Some samples spread over the data, and what the float network makes of them.
class Trial {
 public:
  Trial(const Graph& source, const Dataset&, const CalibrateOptions&,
        std::size_t at_most = 128);

  std::size_t runs() const { return inputs_.size(); }

  /// Lets all runs count alike: these `errors`, of some settings, become relative to their mean
  /// in each run, and so do all later ones. Where a few runs are much more sensitive than the
  /// others, these alone would decide, and by chance.
  void level_runs(std::span<std::vector<double>> errors);

  /// For each setting and each of the runs [first, end): the squared error of the results of a
  /// switchable graph, each over the squared magnitude of that result in all runs. Any number
  /// of first runs are spread over the data.
  std::vector<std::vector<double>> errors(const Executable& switchable,
                                          std::span<const Setting> settings, std::size_t first,
                                          std::size_t end) const;

 private:
  void weigh_results();

  int threads_;
  std::vector<std::vector<Tensor>> inputs_;
  std::vector<std::vector<Tensor>> exact_;
  std::vector<double> weights_;      ///< of each result
  std::vector<double> run_weights_;  ///< of each run
};

}  // namespace tare
