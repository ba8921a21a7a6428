#pragma once

#include "tare/calibrator.h"

#include "calibrate/frontier.h"
#include "execute/feed.h"
#include "graph/subgraph.h"

#include <functional>
#include <optional>
#include <span>

namespace tare {

/// All samples on their way through a graph, level by level. Between two steps they wait in a
/// frontier of values.
class SampleWalk {
 public:
  /// Gets results of one run, from one thread at a time for each `worker`.
  using Take = std::function<void(std::size_t worker, std::size_t run, std::size_t index,
                                  const TensorView& result)>;

  SampleWalk(const Graph& source, const Dataset&, const CalibrateOptions&);

  /// Where the next step starts: values of the graph in which the samples walk.
  std::vector<ValueId> frontier() const;
  /// Runs a part of that graph, from the frontier and the inputs, for every run. `take` gets
  /// its outputs but for the last ones, which are the values `kept`: then they are the
  /// frontier.
  void step(Subgraph part, std::span<const ValueId> kept, const Take& take);

  int threads() const { return threads_; }
  std::size_t batch() const { return feed_.batch(); }
  std::size_t runs() const { return feed_.runs(); }
  std::size_t samples() const { return feed_.samples(); }
  /// Called with the samples done of each step.
  std::function<void(std::size_t done)> progress;

 private:
  Feed feed_;
  int threads_;
  std::size_t memory_;
  Frontier frontier_;
  /// Of the frontier before: pages that a file has already need not be made and cleared.
  std::unique_ptr<ScratchFile> spare_;
};

}  // namespace tare
