// The pass over samples that calibrating, comparing, equalizing and watching accumulators
// share. One run of the graph for each sample, in parallel.
#include "execute/run/sample_driver.h"

#include "base/parallel.h"
#include "execute/run/workers.h"

#include <mutex>

namespace tare {

SampleDriver::SampleDriver(const Executable& executable, int threads)
    : executable_(executable),
      workspaces_(static_cast<std::size_t>(worker_count(executable, threads))) {}

std::size_t SampleDriver::run(const Feed& feed, const Body& body, const PassOptions& options) {
  std::mutex mutex;
  std::size_t done = 0;
  bool progress_failed = false;
  const auto run_chunk = [&](std::size_t worker, std::size_t chunk) {
    auto& workspace = workspaces_[worker];
    if (!workspace) {
      workspace.emplace(executable_);
    }
    feed.for_each_run(chunk, [&](std::size_t run, std::span<const Tensor> inputs) {
      body(worker, *workspace, run, inputs);
    });
    if (options.progress) {
      const std::lock_guard lock(mutex);
      if (progress_failed) {
        return;
      }
      done += feed.samples_in(chunk);
      progress_failed = true;  // unless it returns
      options.progress(done);
      progress_failed = false;
    }
  };
  const std::size_t chunks =
      parallel_for(feed.chunks(), static_cast<int>(workers()), run_chunk, options.stop);
  std::size_t samples = 0;
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    samples += feed.samples_in(chunk);
  }
  return samples;
}

}  // namespace tare
