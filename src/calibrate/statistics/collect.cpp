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

Error other_values() {
  return Error(ErrorCode::kInvalidData, "", "the statistics are of other values")
      .hint("collect all parts with the same target and configuration");
}

/// What each worker observes of the values, which have those names; the first one goes on with
/// what was observed before, which takes no room of its own then. Throws where that is of other
/// values.
std::vector<std::vector<Observed>> workers_after(std::size_t count,
                                                 std::span<const ValueId> watched,
                                                 std::span<const std::string> names,
                                                 const StartObserving& start,
                                                 Statistics& so_far) {
  std::vector<std::vector<Observed>> workers(count);
  for (std::vector<Observed>& values : workers) {
    std::transform(watched.begin(), watched.end(), std::back_inserter(values), start);
  }
  for (std::size_t i = 0; i < names.size() && !so_far.values.empty(); ++i) {
    const auto values = so_far.values.find(names[i]);
    if (values == so_far.values.end() || so_far.values.size() != names.size()) {
      throw other_values();
    }
    workers[0][i].values = std::move(values->second);
    if (const auto channels = so_far.channels.find(names[i]);
        channels != so_far.channels.end()) {
      workers[0][i].channels = std::move(channels->second);
    } else {
      workers[0][i].mix_channels();  // or it has no axis of channels
    }
  }
  so_far.values.clear();
  so_far.channels.clear();
  return workers;
}

/// Moves what the worker saw to the result.
void add(std::vector<Observed> values, std::span<const std::string> names, Collected& result) {
  const auto join = [](auto& all, const std::string& name, auto&& own) {
    const auto [found, is_first] = all.try_emplace(name, std::move(own));
    if (!is_first) {
      found->second.merge(own);
    }
  };
  for (std::size_t i = 0; i < names.size(); ++i) {
    Observed value = std::move(values[i]);
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
}

/// Values whose axis 1 had several extents, which not each worker may have seen.
std::set<std::string> mix_channels(std::vector<std::vector<Observed>>& workers,
                                   std::span<const std::string> names) {
  std::set<std::string> mixed;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::set<std::size_t> extents;
    bool is_mixed = false;
    for (const std::vector<Observed>& values : workers) {
      is_mixed = is_mixed || values[i].mixed_channels;
      if (values[i].channels.channels() > 0) {
        extents.insert(values[i].channels.channels());
      }
    }
    if (is_mixed || extents.size() > 1) {
      mixed.insert(names[i]);
      for (std::vector<Observed>& values : workers) {
        values[i].mix_channels();
      }
    }
  }
  return mixed;
}

/// Adds what other processes observed.
void share(Communicator& team, std::span<const std::string> names,
           const std::set<std::string>& mixed, Statistics& statistics) {
  ByteWriter writer;
  for (const std::string& name : names) {
    add(statistics.values[name], writer);
    writer.add(std::uint64_t{mixed.contains(name)});
    add(statistics.channels[name], writer);
  }
  statistics.values.clear();
  statistics.channels.clear();
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
  }
  for (auto& [name, observed] : all) {
    statistics.values[name] = std::move(observed.values);
    statistics.channels[name] = std::move(observed.channels);
  }
  std::erase_if(statistics.channels,
                [](const auto& entry) { return entry.second.channels() == 0; });
}

}  // namespace

// With every point disabled the simulated graph computes what its source computes.
Collector::Collector(const SimulatedGraph& simulated, int threads)
    : graph_(simulated.source),
      model_(model_digest(graph_)),
      watched_(watched_values(simulated)),
      executable_(graph_, {.observe = watched_, .threads = threads}),
      driver_(executable_, threads) {
  // Names are looked up once.
  for (const ValueId value : watched_) {
    names_.push_back(graph_.name(value));
  }
}

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
  const bool look_at_values = std::any_of(watched_.begin(), watched_.end(), [&](ValueId value) {
    return start(value).observer != nullptr;
  });
  // Those that look at the values themselves cannot tell other processes what they saw, and a
  // pass that may be stopped ends where this process is.
  Communicator* const team = look_at_values || options.stop ? nullptr : options.communicator;
  const std::size_t first = options.first + so_far.samples;
  const Feed feed = own_feed(graph_, samples, options.samples, first, team);
  if (team != nullptr && team->rank() > 0) {
    so_far.values.clear();  // the first process adds them
    so_far.channels.clear();
  }
  auto workers = workers_after(driver_.workers(), watched_, names_, start, so_far);
  const auto run_once = [&](std::size_t worker, Executable::Workspace& workspace, std::size_t,
                            std::span<const Tensor> inputs) {
    (void)executable_.run(workspace, inputs, [&](std::size_t index, const TensorView& view) {
      workers[worker][index].observe(view, feed.batch());
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
  const std::set<std::string> mixed = mix_channels(workers, names_);
  for (std::vector<Observed>& values : workers) {
    add(std::move(values), names_, result);
  }
  result.statistics.samples += observed;
  if (team != nullptr) {
    const std::size_t all = Feed(graph_, samples, options.samples, first).samples();
    result.statistics.samples += all - observed;
    samples.share(*team);
    share(*team, names_, mixed, result.statistics);
  }
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
}

}  // namespace tare
