#include "calibrate/collect.h"

#include "tare/error.h"
#include "tare/statistics.h"

#include "base/parallel.h"
#include "calibrate/audit.h"
#include "calibrate/model_digest.h"
#include "calibrate/observed.h"
#include "calibrate/sample_digests.h"
#include "execute/feed.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>

namespace tare {
namespace {

/// The values that decide points, and the inputs of the nodes whose biases are corrected.
std::vector<ValueId> watched_values(const SimulatedGraph& simulated) {
  std::set<ValueId> values;
  for (const QuantPoint& point : simulated.points) {
    if (point.role == Role::kActivation) {
      values.insert(point.value);
    } else if (point.role == Role::kAccumulator) {
      values.insert(simulated.source.node(*point.reader).inputs[0]);
    }
  }
  return {values.begin(), values.end()};
}

/// Statistics of single values under their position in the list of watched ones: names are
/// looked up once.
struct Worker {
  std::optional<Executable::Workspace> workspace;
  std::vector<Observed> values;
};

}  // namespace

Collected collect_observing(const SimulatedGraph& simulated, const Dataset& data,
                            const CalibrateOptions& options, Statistics so_far,
                            const MakeObserver& make_observer, CalibrationAudit* audit) {
  // With every point disabled the simulated graph computes what its source computes.
  const Graph& graph = simulated.source;
  const std::uint64_t model = model_digest(graph);
  if (so_far.samples == 0) {
    so_far.model = model;
    for (const DatasetInput& input : data.inputs()) {
      so_far.inputs[input.name] = input.shape;
    }
  }
  require_model(model, so_far);
  const std::vector<ValueId> watched = watched_values(simulated);
  const Executable executable(graph, {.observe = watched});
  const SampleDigests samples(data);
  const Feed feed(graph, samples, options.samples, options.first + so_far.samples);
  std::vector<Worker> workers(static_cast<std::size_t>(thread_count(options.threads)));
  std::mutex progress;
  std::size_t done = 0;
  const auto run_chunk = [&](std::size_t w, std::size_t chunk) {
    Worker& worker = workers[w];
    if (!worker.workspace) {
      worker.workspace.emplace(executable);
      worker.values.resize(watched.size());
      for (std::size_t i = 0; i < watched.size(); ++i) {
        worker.values[i].tensors = make_observer(watched[i]);
      }
    }
    const auto take = [&](std::size_t index, const TensorView& view) {
      worker.values[index].observe(view, feed.batch());
    };
    feed.for_each_run(chunk, [&](std::size_t, std::span<const Tensor> inputs) {
      (void)executable.run(*worker.workspace, inputs, take);
    });
    if (options.progress) {
      const std::lock_guard lock(progress);
      done += feed.samples_in(chunk);
      options.progress(so_far.samples + done, so_far.samples + feed.samples());
    }
  };
  const std::size_t chunks =
      parallel_for(feed.chunks(), static_cast<int>(workers.size()), run_chunk, options.stop);
  // Statistics are the same however samples were grouped, so which worker saw which sample does
  // not matter.
  Statistics seen;
  Collected result;
  seen.model = model;
  seen.data = samples.sum();
  for (Worker& worker : workers) {
    for (std::size_t i = 0; i < worker.values.size(); ++i) {
      const std::string& name = graph.name(watched[i]);
      Observed& value = worker.values[i];
      seen.values[name].merge(value.values);
      if (value.channels.channels() > 0) {
        seen.channels[name].merge(value.channels);
      }
      if (value.tensors == nullptr) {
        continue;
      }
      if (auto& tensors = result.tensors[name]) {
        tensors->merge(*value.tensors);
      } else {
        tensors = std::move(value.tensors);
      }
    }
  }
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    seen.samples += feed.samples_in(chunk);
  }
  merge(seen, so_far);
  audit_samples(samples, audit);
  result.statistics = std::move(so_far);
  return result;
}

Statistics collect(const SimulatedGraph& simulated, const Dataset& data,
                   const CalibrateOptions& options, Statistics so_far,
                   CalibrationAudit* audit) {
  return collect_observing(
             simulated, data, options, std::move(so_far), [](ValueId) { return nullptr; },
             audit)
      .statistics;
}

std::uint64_t data_digest(const Graph& graph, const Dataset& data, std::size_t first,
                          std::size_t samples) {
  const SampleDigests digests(data);
  const Feed feed(graph, digests, first + samples, first);
  for (std::size_t chunk = 0; chunk < feed.chunks(); ++chunk) {
    feed.for_each_run(chunk, [](std::size_t, std::span<const Tensor>) {});
  }
  return digests.sum();
}

void merge(const Statistics& from, Statistics& into) {
  require_model(into.model, from);
  const auto same_name = [](const auto& a, const auto& b) { return a.first == b.first; };
  if (from.samples > 0 && into.samples > 0 &&
      !std::equal(from.values.begin(), from.values.end(), into.values.begin(),
                  into.values.end(), same_name)) {
    throw Error(ErrorCode::kInvalidData, "", "the statistics are of other values")
        .hint("collect all parts with the same target and configuration");
  }
  into.data += from.data;
  into.samples += from.samples;
  into.inputs.insert(from.inputs.begin(), from.inputs.end());
  for (const auto& [name, summary] : from.values) {
    into.values[name].merge(summary);
  }
  for (const auto& [name, channels] : from.channels) {
    into.channels[name].merge(channels);
  }
}

}  // namespace tare
