#pragma once

#include "tare/execute.h"

#include "execute/run/feed.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace tare {

/// Of one pass of a SampleDriver.
struct PassOptions {
  /// Told after each chunk how many samples are done, by one thread at a time; may be empty.
  /// What it throws ends the pass, and it is not called again.
  std::function<void(std::size_t done)> progress{};
  /// See parallel_for().
  std::function<bool()> stop{};
};

/// Runs a graph over samples, as everybody does who looks at what it computes on them: threads
/// share the chunks of a feed, and each has a workspace, made when it first takes one and kept
/// from pass to pass. Memory does not depend on the number of samples, unless the body keeps
/// something. The executable must outlive it.
class SampleDriver {
 public:
  /// As many threads as are asked for (see thread_count()) and as the executable can use.
  SampleDriver(const Executable&, int threads);

  /// Workers have the numbers below this.
  std::size_t workers() const { return workspaces_.size(); }

  /// What happens in a run of the graph on `inputs`. Calls of one worker do not overlap, those
  /// of several do; a worker's runs come in ascending order.
  using Body = std::function<void(std::size_t worker, Executable::Workspace&, std::size_t run,
                                  std::span<const Tensor> inputs)>;
  /// Returns how many samples were run, always the first ones: all, unless it was stopped. What
  /// the body throws ends the pass; of several errors it is that of the earliest samples.
  std::size_t run(const Feed&, const Body&, const PassOptions& = {});

 private:
  const Executable& executable_;
  std::vector<std::optional<Executable::Workspace>> workspaces_;
};

}  // namespace tare
