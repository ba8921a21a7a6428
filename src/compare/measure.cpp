// Runs float and quantized network side by side on the samples, and compares values while they
// pass. A float value is copied when it appears and kept until the last comparison with it is
// made, so memory is that of the values which wait at one time, for each thread. Sums are
// exact, so the number of threads does not show, nor that of the processes that share the
// samples. Cost: one run of the graph of side_by_side.cpp for each sample, which is three
// networks in one, and a pass over each pair that is compared.
#include "compare/measure.h"

#include "calibrate/statistics/shares.h"
#include "compare/metric_sums.h"
#include "compare/outputs.h"
#include "execute/run/sample_driver.h"
#include "graph/operators/usable_labels.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tare {
namespace {

/// What becomes of an observed value: it is kept as float value number `real` for so many
/// `readers`, compared with that one, or observed as what is visible of a point.
struct Task {
  enum class Kind { kKeep, kPoint, kVisible, kLocal, kCumulative };
  Kind kind = Kind::kKeep;
  std::size_t real = 0;
  std::size_t index = 0;  ///< of the point or layer
};

/// What is observed of the graph, and why. A value may serve several comparisons.
class Tasks {
 public:
  explicit Tasks(const SideBySide& graphs) {
    for (std::size_t i = 0; i < graphs.point_real.size(); ++i) {
      add(Task::Kind::kPoint, graphs.point_real[i], graphs.point_storage[i], i);
      if (const ValueId visible = graphs.point_visible[i]) {
        of[position(visible)].push_back({Task::Kind::kVisible, 0, i});
      }
    }
    for (std::size_t i = 0; i < graphs.layer_real.size(); ++i) {
      add(Task::Kind::kLocal, graphs.layer_real[i], graphs.layer_local[i], i);
      add(Task::Kind::kCumulative, graphs.layer_real[i], graphs.layer_cumulative[i], i);
    }
  }

  std::vector<ValueId> observed;
  std::vector<std::vector<Task>> of;  ///< for each observed value, keeping first
  std::vector<std::size_t> readers;   ///< for each float value

 private:
  void add(Task::Kind kind, ValueId real, ValueId other, std::size_t index) {
    auto [found, is_new] = reals_.try_emplace(real, readers.size());
    if (is_new) {
      readers.push_back(0);
      of[position(real)].insert(of[position(real)].begin(), {Task::Kind::kKeep, found->second});
    }
    ++readers[found->second];
    of[position(other)].push_back({kind, found->second, index});
  }

  std::size_t position(ValueId value) {
    const auto [found, is_new] = positions_.try_emplace(value, observed.size());
    if (is_new) {
      observed.push_back(value);
      of.emplace_back();
    }
    return found->second;
  }

  std::map<ValueId, std::size_t> reals_;
  std::map<ValueId, std::size_t> positions_;
};

/// A tensor that waits for what it is compared with.
struct Kept {
  std::vector<std::byte> bytes;
  const TensorType* type = nullptr;
  bool channels_last = false;

  TensorView view() const { return {type, bytes.data(), channels_last}; }
};

/// A float tensor with the comparisons it is still needed for, and those that came before it:
/// what does not depend on samples, for one, is computed before all else.
struct Reference {
  Kept kept;
  std::size_t readers = 0;  ///< 0: not there
  std::vector<std::pair<Task, Kept>> early;
};

/// What one thread has measured.
class Worker {
 public:
  Worker(const Tasks& tasks, std::size_t layers, std::size_t points)
      : tasks_(&tasks), references_(tasks.readers.size()) {
    measured.layers.resize(layers);
    measured.points.resize(points);
  }

  std::vector<Tensor> run(const Executable& executable, Executable::Workspace& workspace,
                          std::span<const Tensor> inputs, std::size_t first_sample,
                          std::size_t batch) {
    first_sample_ = first_sample;
    batch_ = batch;
    return executable.run(workspace, inputs, [this](std::size_t index, const TensorView& view) {
      take(index, view);
    });
  }

  Measured measured;

 private:
  void take(std::size_t index, const TensorView& view) {
    for (const Task& task : tasks_->of[index]) {
      if (task.kind == Task::Kind::kKeep) {
        keep(task.real, view);
      } else if (task.kind == Task::Kind::kVisible) {
        measured.points[task.index].visible.observe(view.elements<float>());
      } else {
        compare(task, view);
      }
    }
  }

  void keep(std::size_t real, const TensorView& view) {
    Reference& reference = references_[real];
    reference.kept = copy(view);
    reference.readers = tasks_->readers[real];
    for (auto& [task, other] : std::exchange(reference.early, {})) {
      compare(task, other.view());
      spare_.push_back(std::move(other.bytes));
    }
  }

  Kept copy(const TensorView& view) {
    Kept kept{.bytes = {}, .type = view.type, .channels_last = view.channels_last};
    if (!spare_.empty()) {
      kept.bytes = std::move(spare_.back());
      spare_.pop_back();
    }
    const auto size = static_cast<std::size_t>(view.size()) * size_of(view.type->dtype);
    kept.bytes.assign(view.data, view.data + size);
    return kept;
  }

  void compare(const Task& task, const TensorView& view) {
    Reference& reference = references_[task.real];
    if (reference.readers == 0) {
      reference.early.emplace_back(task, copy(view));
      return;
    }
    const TensorView real = reference.kept.view();
    switch (task.kind) {
      case Task::Kind::kPoint:
        measured.points[task.index].observe(real, view, first_sample_, batch_);
        break;
      case Task::Kind::kLocal:
        measured.layers[task.index].local.observe(real, view, first_sample_, batch_);
        break;
      default:
        measured.layers[task.index].cumulative.observe(real, view, first_sample_, batch_);
    }
    if (--reference.readers == 0) {
      spare_.push_back(std::move(reference.kept.bytes));
    }
  }

  const Tasks* tasks_;
  std::vector<Reference> references_;
  std::vector<std::vector<std::byte>> spare_;
  std::size_t first_sample_ = 0;
  std::size_t batch_ = 1;
};

void merge(const Measured& from, Measured& into) {
  for (std::size_t i = 0; i < from.layers.size(); ++i) {
    into.layers[i].local.merge(from.layers[i].local);
    into.layers[i].cumulative.merge(from.layers[i].cumulative);
  }
  for (std::size_t i = 0; i < from.points.size(); ++i) {
    into.points[i].merge(from.points[i]);
  }
}

/// Adds what the other processes measured.
void share(Communicator& team, Measured& measured, OutputSums& outputs, MetricSums& metrics) {
  ByteWriter writer;
  for (const Measured::Layer& layer : measured.layers) {
    layer.local.write(writer);
    layer.cumulative.write(writer);
  }
  for (const RoundedValues& point : measured.points) {
    point.write(writer);
  }
  outputs.write(writer);
  metrics.write(writer);
  const std::vector<std::string> messages = team.gather(writer.take(), Message::kErrors);
  for (int rank = 0; rank < team.count(); ++rank) {
    if (rank == team.rank()) {
      continue;
    }
    ByteReader reader(messages[static_cast<std::size_t>(rank)]);
    for (Measured::Layer& layer : measured.layers) {
      layer.local.merge(DeviationSums::read(reader));
      layer.cumulative.merge(DeviationSums::read(reader));
    }
    for (RoundedValues& point : measured.points) {
      point.merge(RoundedValues::read(reader));
    }
    outputs.merge(reader);
    metrics.merge(reader);
  }
}

}  // namespace

Measured measure(const SideBySide& graphs, const Dataset& data,
                 std::span<const MetricInfo> metrics, const CompareOptions& options) {
  const Tasks tasks(graphs);
  const Executable executable(
      graphs.graph, {.observe = tasks.observed, .precise = true, .threads = options.threads});
  const Feed all(graphs.graph, data, options.samples);
  const auto labels = usable_labels(data);
  const std::vector<bool> scores =
      find_scores(graphs.graph, graphs.graph.outputs().size() / 2, all.batch());
  const auto tokens = token_interface(graphs.graph);
  MetricSums metric_sums(metrics, labels, all.batch(), tokens);
  Communicator* const team = metric_sums.can_tell() ? options.communicator : nullptr;
  const Feed feed = own_feed(graphs.graph, data, options.samples, 0, team);
  const std::size_t first_run = own_share(all.runs(), team).first;
  const std::size_t layers = graphs.layer_real.size();
  const std::size_t points = graphs.point_real.size();
  struct OfWorker {
    std::optional<Worker> worker;
    std::optional<OutputSums> outputs;
    std::optional<MetricSums> metrics;
  };
  SampleDriver driver(executable, options.threads);
  std::vector<OfWorker> workers(driver.workers());
  const auto run_once = [&](std::size_t w, Executable::Workspace& workspace, std::size_t run,
                            std::span<const Tensor> inputs) {
    OfWorker& own = workers[w];
    if (!own.worker) {
      own.worker.emplace(tasks, layers, points);
      own.outputs.emplace(scores, labels, all.batch());
      own.metrics.emplace(metrics, labels, all.batch(), tokens);
    }
    const std::size_t first = (first_run + run) * all.batch();
    const std::vector<Tensor> results =
        own.worker->run(executable, workspace, inputs, first, all.batch());
    own.outputs->observe(results, first);
    own.metrics->observe(inputs, results, first);
  };
  PassOptions pass;
  if (options.progress) {
    pass.progress = [&](std::size_t done) { options.progress(done, feed.samples()); };
  }
  driver.run(feed, run_once, pass);
  Measured result;
  result.samples = all.samples();
  result.layers.resize(layers);
  result.points.resize(points);
  OutputSums outputs(scores, labels, all.batch());
  for (const OfWorker& own : workers) {
    if (own.worker) {
      merge(own.worker->measured, result);
      outputs.merge(*own.outputs);
      metric_sums.merge(*own.metrics);
    }
  }
  if (team != nullptr) {
    share(*team, result, outputs, metric_sums);
  }
  outputs.finish(result);
  result.metrics = metric_sums.reports();
  return result;
}

}  // namespace tare
