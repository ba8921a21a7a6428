#include "tare/error.h"
#include "tare/pipeline.h"

#include "calibrate/audit.h"

#include <atomic>
#include <chrono>

namespace tare {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kInterval = std::chrono::seconds(10);

/// What the checkpoint holds if that is the beginning of this very work.
Statistics resumed(const SimulatedGraph& simulated, const Dataset& data,
                   const CalibrateOptions& options, const std::filesystem::path& checkpoint) {
  if (!std::filesystem::exists(checkpoint)) {
    return {};
  }
  try {
    Statistics found = read_statistics(checkpoint);
    const std::size_t end =
        options.samples == 0 ? data.size() : std::min(options.samples, data.size());
    if (found.samples > 0 && options.first + found.samples <= end &&
        found.data == data_digest(simulated.source, data, options.first, found.samples)) {
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
                             const std::filesystem::path& checkpoint, CalibrationAudit* audit) {
  // What is read to trust a checkpoint counts too.
  const SampleDigests data(samples);
  Statistics statistics = resumed(simulated, data, options, checkpoint);
  if (statistics.model != model_digest(simulated.source)) {
    statistics = {};
  }
  for (;;) {
    std::atomic<bool> stopped = false;
    std::atomic<bool> due = false;
    const Clock::time_point deadline = Clock::now() + kInterval;
    CalibrateOptions until = options;
    until.stop = [&] {
      if (options.stop && options.stop()) {
        stopped = true;
      } else if (Clock::now() >= deadline) {
        due = true;
      }
      return stopped || due;
    };
    statistics = collect(simulated, data, until, std::move(statistics));
    if (!stopped && !due) {
      std::filesystem::remove(checkpoint);
      audit_samples(data, audit);
      return statistics;
    }
    write_statistics(checkpoint, statistics);
    if (stopped) {
      return statistics;
    }
  }
}

}  // namespace tare
