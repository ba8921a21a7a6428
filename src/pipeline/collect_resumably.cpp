// Collects statistics and writes them down from time to time. Statistics merge exactly, so
// going on from a checkpoint gives the bytes that one run would have given. A checkpoint is
// trusted when it is of the same model, values and samples, which costs reading these samples
// again and running the first of them.
#include "tare/error.h"
#include "tare/simulate.h"

#include "calibrate/audit/audit.h"
#include "calibrate/statistics/collect.h"
#include "calibrate/statistics/denormals.h"
#include "execute/run/feed.h"

#include <atomic>

namespace tare {
namespace {

using Clock = std::chrono::steady_clock;

/// What the checkpoint holds if that is the beginning of this very work.
Statistics resumed(const SimulatedGraph& simulated, const Dataset& data,
                   const CalibrateOptions& options, const Feed& feed,
                   const CollectCheckpoint& checkpoint) {
  if (!std::filesystem::exists(checkpoint.file)) {
    return {};
  }
  try {
    Statistics found = read_statistics(checkpoint.file, checkpoint.reading);
    if (found.samples == 0 || found.samples > feed.samples()) {
      return {};
    }
    // Statistics of another model, or of the values that another target or configuration looks
    // at, do not add up with those of one run.
    Statistics one_run = collect(
        simulated, data,
        {.threads = 1, .samples = options.first + feed.batch(), .first = options.first});
    merge(found, one_run);
    if (found.data == data_digest(simulated.source, data, options.first, found.samples)) {
      return found;
    }
  } catch (const Error&) {
    // A checkpoint is a help; without one the work starts at the beginning.
  }
  return {};
}

}  // namespace

Statistics collect_resumably(const SimulatedGraph& simulated, const Dataset& samples,
                             const CalibrateOptions& options,
                             const CollectCheckpoint& checkpoint, CalibrationAudit* audit) {
  // What is read to trust a checkpoint counts too.
  const SampleDigests data(samples);
  const Feed feed(simulated.source, data, options.samples, options.first);
  Statistics statistics = resumed(simulated, data, options, feed, checkpoint);
  // Made once: compiled anew after each checkpoint, the network would fragment the memory.
  Collector collector(simulated, options.threads);
  for (;;) {
    std::atomic<bool> stopped = false;
    std::atomic<bool> begun = false;
    const Clock::time_point deadline = Clock::now() + checkpoint.interval;
    CalibrateOptions until = options;
    until.stop = [&] {
      if (options.stop && options.stop()) {
        stopped = true;
      }
      // Some samples are run each time, however long the preparations took.
      return stopped || (begun.exchange(true) && Clock::now() >= deadline);
    };
    statistics = collector.run(data, until, std::move(statistics), nullptr);
    if (statistics.samples == feed.samples()) {
      std::filesystem::remove(checkpoint.file);
      audit_samples(data, audit);
      if (auto warning = denormal_weights(simulated.source); warning && audit != nullptr) {
        audit->warnings.push_back(std::move(*warning));
      }
      return statistics;
    }
    write_statistics(checkpoint.file, statistics);
    if (stopped) {
      return statistics;
    }
  }
}

}  // namespace tare
