#pragma once

#include "tare/statistics.h"

#include "calibrate/sequential/activation_cache.h"
#include "calibrate/statistics/shares.h"
#include "execute/run/feed.h"
#include "graph/ir/subgraph.h"

#include <functional>
#include <set>
#include <span>

namespace tare {

/// Runs all samples through a graph, level by level. Between two steps their activations are in
/// a cache.
class LayerwiseRunner {
 public:
  /// Gets results of one run, from one thread at a time for each `worker`.
  using Take = std::function<void(std::size_t worker, std::size_t run, std::size_t index,
                                  const TensorView& result)>;

  /// Of the runs that all processes of `team` make together; null: there is one process.
  LayerwiseRunner(const Graph& source, const Dataset&, const CalibrateOptions&,
                  const Communicator* team = nullptr);

  /// Where the next step starts: the values of the source graph that are cached.
  std::vector<ValueId> cached_values() const;
  /// Runs a part of that graph, from the cache and the inputs, for every run of this process.
  /// Its outputs are the values `watched`, which `take` gets, and then the values `kept`, which
  /// are cached next. So are those of `watched` that are in `undecided`, as far as there is
  /// memory for all. An absent value in `watched` stands for an output that the part alone has.
  void step(Subgraph part, std::span<const ValueId> watched, std::span<const ValueId> kept,
            const std::set<ValueId>& undecided, const Take& take);

  int threads() const { return threads_; }
  std::size_t batch() const { return feed_.batch(); }
  std::size_t runs() const { return runs_; }               ///< of all processes
  Share own_runs() const { return own_; }                  ///< of this one
  std::size_t samples() const { return feed_.samples(); }  ///< of this process
  /// Called with the samples done of each step.
  std::function<void(std::size_t done)> progress;

 private:
  /// Bytes of one cache of these that may be in memory.
  std::size_t memory_of_cache(const std::vector<CachedActivation>&) const;

  std::size_t runs_;
  Share own_;
  Feed feed_;  ///< of this process
  bool several_shapes_;
  int threads_;
  std::size_t memory_;  ///< that both caches may have; 0: nothing is said
  ActivationCache cache_;
  std::unique_ptr<ScratchFile> spare_file_;  ///< of the cache before
};

}  // namespace tare
