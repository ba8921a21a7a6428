#include "calibrate/observe.h"

#include "base/parallel.h"
#include "execute/feed.h"

#include <mutex>
#include <optional>
#include <set>

namespace tare {
namespace {

struct Worker {
  std::optional<Executable::Workspace> workspace;
  Observation seen;
};

Observation nothing(const Watch& watch) {
  Observation result;
  for (const ValueId value : watch.summaries) {
    result.summaries[value];
  }
  for (const ValueId value : watch.channel_sums) {
    result.channel_sums[value];
  }
  return result;
}

void merge(const Observation& from, Observation& into) {
  for (const auto& [value, summary] : from.summaries) {
    into.summaries[value].merge(summary);
  }
  for (const auto& [value, sums] : from.channel_sums) {
    into.channel_sums[value].merge(sums);
  }
}

/// Where the first axis is that of the samples, each is a run of elements in any layout.
void observe_samples(const TensorView& view, std::size_t batch, Summary& summary) {
  const auto values = view.elements<float>();
  const Shape& shape = view.type->shape;
  const std::size_t samples =
      !shape.empty() && static_cast<std::size_t>(shape[0]) == batch ? batch : 1;
  const std::size_t each = values.size() / samples;
  for (std::size_t i = 0; i < samples; ++i) {
    summary.observe(values.subspan(i * each, each));
  }
}

}  // namespace

Observation observe(const Graph& graph, const Watch& watch, const Dataset& data,
                    const CalibrateOptions& options) {
  std::set<ValueId> distinct(watch.summaries.begin(), watch.summaries.end());
  distinct.insert(watch.channel_sums.begin(), watch.channel_sums.end());
  const std::vector<ValueId> values(distinct.begin(), distinct.end());
  const Executable executable(graph, {.observe = values});
  const Feed feed(graph, data, options.samples);
  const std::size_t batch = feed.samples() / feed.runs();
  const auto threads = static_cast<std::size_t>(thread_count(options.threads));
  std::vector<Worker> workers(threads);
  std::mutex progress;
  std::size_t done = 0;
  parallel_for(feed.chunks(), static_cast<int>(threads), [&](std::size_t w, std::size_t chunk) {
    Worker& worker = workers[w];
    if (!worker.workspace) {
      worker.workspace.emplace(executable);
      worker.seen = nothing(watch);
    }
    const auto take = [&](std::size_t index, const TensorView& view) {
      const ValueId value = values[index];
      if (const auto found = worker.seen.summaries.find(value);
          found != worker.seen.summaries.end()) {
        observe_samples(view, batch, found->second);
      }
      if (const auto found = worker.seen.channel_sums.find(value);
          found != worker.seen.channel_sums.end()) {
        found->second.observe(view);
      }
    };
    feed.for_each_run(chunk, [&](std::size_t, std::span<const Tensor> inputs) {
      (void)executable.run(*worker.workspace, inputs, take);
    });
    if (options.progress) {
      const std::lock_guard lock(progress);
      done += feed.samples_in(chunk);
      options.progress(done, feed.samples());
    }
  });
  // Both kinds of statistics are the same however samples were grouped, so which worker saw
  // which sample does not matter.
  Observation total = nothing(watch);
  for (const Worker& worker : workers) {
    merge(worker.seen, total);
  }
  return total;
}

}  // namespace tare
