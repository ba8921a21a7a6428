// The independent schedule, first half: the float network runs on every sample, in parallel,
// and each thread keeps statistics of its own of all values with a point. These are merged in
// the end. Merging is exact, so neither the number of threads nor their timing shows in the
// result, and statistics of other samples can be added later. Cost: one run for each sample,
// and counting each value in a histogram. Each thread has a workspace and statistics of each
// value, which take the room that tensor_statistics.cpp says.
#include "calibrate/statistics/collect.h"

#include "tare/error.h"
#include "tare/graph.h"
#include "tare/simulate.h"
#include "tare/statistics.h"

#include "calibrate/audit/audit.h"
#include "calibrate/statistics/model_digest.h"
#include "calibrate/statistics/observed.h"
#include "calibrate/statistics/sample_digests.h"
#include "calibrate/statistics/shares.h"
#include "calibrate/statistics/statistics_bytes.h"
#include "execute/run/feed.h"
#include "graph/operators/rectified_sum.h"

#include <algorithm>
#include <iterator>
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

void forget_values(Statistics& statistics) {
  statistics.values.clear();
  statistics.channels.clear();
  statistics.visible.clear();
}

/// Leaves out visible parts that not all samples have shown, since some were observed by a
/// version that did not look at them.
void drop_incomplete_parts(Statistics& statistics) {
  std::erase_if(statistics.visible, [&](const auto& part) {
    const auto whole = statistics.values.find(part.first);
    return whole == statistics.values.end() ||
           part.second.observed() != whole->second.observed();
  });
}

Error other_values() {
  return Error(ErrorCode::kInvalidData, "", "the statistics are of other values")
      .hint("collect all parts with the same target and configuration");
}

/// What one worker observes.
struct SeenByWorker {
  std::vector<Observed> values;
  std::vector<TensorStatistics> visible;  ///< parts of rectified operands
};

/// What each worker observes of the values, which have those names; the first one goes on with
/// what was observed before, which takes no room of its own then. Throws where that is of other
/// values.
std::vector<SeenByWorker> workers_after(std::size_t count, std::span<const ValueId> watched,
                                        std::span<const std::string> names,
                                        std::span<const std::string> rectified,
                                        const StartObserving& start, Statistics& so_far) {
  std::vector<SeenByWorker> workers(count);
  for (SeenByWorker& worker : workers) {
    std::transform(watched.begin(), watched.end(), std::back_inserter(worker.values), start);
    worker.visible.resize(rectified.size());
  }
  for (std::size_t i = 0; i < names.size() && !so_far.values.empty(); ++i) {
    const auto values = so_far.values.find(names[i]);
    if (values == so_far.values.end() || so_far.values.size() != names.size()) {
      throw other_values();
    }
    workers[0].values[i].values = std::move(values->second);
    if (const auto channels = so_far.channels.find(names[i]);
        channels != so_far.channels.end()) {
      workers[0].values[i].channels = std::move(channels->second);
    } else {
      workers[0].values[i].mix_channels();  // or it has no axis of channels
    }
  }
  for (std::size_t i = 0; i < rectified.size(); ++i) {
    if (const auto visible = so_far.visible.find(rectified[i]);
        visible != so_far.visible.end()) {
      workers[0].visible[i] = std::move(visible->second);
    }
  }
  forget_values(so_far);
  return workers;
}

/// Moves what the worker saw to the result.
void add(SeenByWorker worker, std::span<const std::string> names,
         std::span<const std::string> rectified, Collected& result) {
  const auto join = [](auto& all, const std::string& name, auto&& own) {
    const auto [found, is_first] = all.try_emplace(name, std::move(own));
    if (!is_first) {
      found->second.merge(own);
    }
  };
  for (std::size_t i = 0; i < names.size(); ++i) {
    Observed value = std::move(worker.values[i]);
    join(result.statistics.values, names[i], std::move(value.values));
    if (value.channels.channels() > 0) {
      join(result.statistics.channels, names[i], std::move(value.channels));
    }
    if (value.observer == nullptr) {
      continue;
    }
    if (auto& observer = result.observers[names[i]]) {
      observer->merge(*value.observer);
    } else {
      observer = std::move(value.observer);
    }
  }
  for (std::size_t i = 0; i < rectified.size(); ++i) {
    join(result.statistics.visible, rectified[i], std::move(worker.visible[i]));
  }
}

/// Values whose axis 1 had several extents, which not each worker may have seen.
std::set<std::string> mix_channels(std::vector<SeenByWorker>& workers,
                                   std::span<const std::string> names) {
  std::set<std::string> mixed;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::set<std::size_t> extents;
    bool is_mixed = false;
    for (const SeenByWorker& worker : workers) {
      is_mixed = is_mixed || worker.values[i].mixed_channels;
      if (worker.values[i].channels.channels() > 0) {
        extents.insert(worker.values[i].channels.channels());
      }
    }
    if (is_mixed || extents.size() > 1) {
      mixed.insert(names[i]);
      for (SeenByWorker& worker : workers) {
        worker.values[i].mix_channels();
      }
    }
  }
  return mixed;
}

/// Adds what other processes observed.
void share(Communicator& team, std::span<const std::string> names,
           std::span<const std::string> rectified, const std::set<std::string>& mixed,
           Statistics& statistics) {
  ByteWriter writer;
  for (const std::string& name : names) {
    add(statistics.values[name], writer);
    writer.add(std::uint64_t{mixed.contains(name)});
    add(statistics.channels[name], writer);
  }
  for (const std::string& name : rectified) {
    add(statistics.visible[name], writer);
  }
  forget_values(statistics);
  std::map<std::string, Observed> all;
  for (const std::string& bytes : team.gather(writer.take(), Message::kStatistics)) {
    ByteReader reader(bytes);
    for (const std::string& name : names) {
      Observed theirs;
      theirs.values = read_tensor_statistics(reader);
      theirs.mixed_channels = reader.get<std::uint64_t>() != 0;
      theirs.channels = read_channel_statistics(reader);
      all[name].merge(theirs);
    }
    for (const std::string& name : rectified) {
      statistics.visible[name].merge(read_tensor_statistics(reader));
    }
  }
  for (auto& [name, observed] : all) {
    statistics.values[name] = std::move(observed.values);
    statistics.channels[name] = std::move(observed.channels);
  }
  std::erase_if(statistics.channels,
                [](const auto& entry) { return entry.second.channels() == 0; });
}

ShownValues shown_values(const SimulatedGraph& simulated) {
  ShownValues result{.graph = simulated.source,
                     .values = watched_values(simulated),
                     .names = {},
                     .rectified = {}};
  for (const ValueId value : result.values) {
    result.names.push_back(result.graph.name(value));
  }
  std::set<ValueId> seen;
  for (const QuantPoint& point : simulated.points) {
    const auto other = point.role == Role::kActivation && seen.insert(point.value).second
                           ? rectified_with(simulated.source, point.value)
                           : std::nullopt;
    if (other) {
      result.values.push_back(
          add_visible_part(result.graph, point.value, add_hiding_bound(result.graph, *other)));
      result.rectified.push_back(simulated.source.name(point.value));
    }
  }
  return result;
}

}  // namespace

// With every point disabled the simulated graph computes what its source computes.
Collector::Collector(const SimulatedGraph& simulated, int threads)
    : graph_(simulated.source),
      model_(model_digest(graph_)),
      shown_(shown_values(simulated)),
      executable_(shown_.graph, {.observe = shown_.values, .threads = threads}),
      driver_(executable_, threads) {}

Collected Collector::run(const Dataset& data, const CalibrateOptions& options,
                         Statistics so_far, const StartObserving& start,
                         CalibrationAudit* audit) {
  if (so_far.samples == 0) {
    so_far.model = model_;
    for (const DatasetInput& input : data.inputs()) {
      so_far.inputs[input.name] = input.shape;
    }
  }
  require_model(model_, so_far);
  SampleDigests samples(data);
  const std::span<const ValueId> watched(shown_.values.data(), shown_.names.size());
  const bool look_at_values = std::any_of(watched.begin(), watched.end(), [&](ValueId value) {
    return start(value).observer != nullptr;
  });
  // Those that look at the values themselves cannot tell other processes what they saw, and a
  // pass that may be stopped ends where this process is.
  Communicator* const team = look_at_values || options.stop ? nullptr : options.communicator;
  const std::size_t first = options.first + so_far.samples;
  const Feed feed = own_feed(graph_, samples, options.samples, first, team);
  if (team != nullptr && team->rank() > 0) {
    forget_values(so_far);  // the first process adds them
  }
  auto workers =
      workers_after(driver_.workers(), watched, shown_.names, shown_.rectified, start, so_far);
  const auto run_once = [&](std::size_t worker, Executable::Workspace& workspace, std::size_t,
                            std::span<const Tensor> inputs) {
    (void)executable_.run(workspace, inputs, [&](std::size_t index, const TensorView& view) {
      if (index < watched.size()) {
        workers[worker].values[index].observe(view, feed.batch());
      } else {
        workers[worker].visible[index - watched.size()].observe(view.elements<float>());
      }
    });
  };
  PassOptions pass{.progress = {}, .stop = options.stop};
  if (options.progress) {
    pass.progress = [&](std::size_t done) {
      options.progress(so_far.samples + done, so_far.samples + feed.samples());
    };
  }
  const std::size_t observed = driver_.run(feed, run_once, pass);
  // Statistics are the same however samples were grouped, so which worker saw which sample does
  // not matter.
  Collected result{.statistics = std::move(so_far), .observers = {}};
  const std::set<std::string> mixed = mix_channels(workers, shown_.names);
  for (SeenByWorker& worker : workers) {
    add(std::move(worker), shown_.names, shown_.rectified, result);
  }
  result.statistics.samples += observed;
  if (team != nullptr) {
    const std::size_t all = Feed(graph_, samples, options.samples, first).samples();
    result.statistics.samples += all - observed;
    samples.share(*team);
    share(*team, shown_.names, shown_.rectified, mixed, result.statistics);
  }
  drop_incomplete_parts(result.statistics);
  result.statistics.data += samples.sum();
  audit_samples(samples, audit);
  return result;
}

Statistics Collector::run(const Dataset& data, const CalibrateOptions& options,
                          Statistics so_far, CalibrationAudit* audit) {
  return run(
             data, options, std::move(so_far), [](ValueId) { return Observed(); }, audit)
      .statistics;
}

Statistics collect(const SimulatedGraph& simulated, const Dataset& data,
                   const CalibrateOptions& options, Statistics so_far,
                   CalibrationAudit* audit) {
  return Collector(simulated, options.threads).run(data, options, std::move(so_far), audit);
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
    throw other_values();
  }
  into.data += from.data;
  into.samples += from.samples;
  into.inputs.insert(from.inputs.begin(), from.inputs.end());
  for (const auto& [name, statistics] : from.values) {
    into.values[name].merge(statistics);
  }
  for (const auto& [name, channels] : from.channels) {
    into.channels[name].merge(channels);
  }
  for (const auto& [name, visible] : from.visible) {
    into.visible[name].merge(visible);
  }
  drop_incomplete_parts(into);
}

}  // namespace tare
