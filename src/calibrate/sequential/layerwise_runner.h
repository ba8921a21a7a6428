#pragma once

#include "tare/statistics.h"

#include "calibrate/sequential/activation_cache.h"
#include "execute/run/feed.h"
#include "graph/ir/subgraph.h"

#include <functional>
#include <optional>
#include <span>

namespace tare {

/// Runs all samples through a graph, level by level. Between two steps their activations are in
/// a cache.
class LayerwiseRunner {
 public:
  /// Gets results of one run, from one thread at a time for each `worker`.
  using Take = std::function<void(std::size_t worker, std::size_t run, std::size_t index,
                                  const TensorView& result)>;

  LayerwiseRunner(const Graph& source, const Dataset&, const CalibrateOptions&);

  /// Where the next step starts: the values of the source graph that are cached.
  std::vector<ValueId> cached_values() const;
  /// Runs a part of that graph, from the cache and the inputs, for every run. `take` gets its
  /// outputs but for the last ones, which are the values `kept`: these are cached next.
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
  ActivationCache cache_;
  /// Of the cache before: pages that a file has already need not be made and cleared.
  std::unique_ptr<ScratchFile> spare_;
};

}  // namespace tare
