// What a level has to see: values of its points, operands of its layers, and what a Relu behind
// a sum shows of its points. Each thread observes its own runs, and what they saw is merged.
#include "calibrate/sequential/observe_level.h"

#include "calibrate/selection/choose.h"
#include "calibrate/sequential/holdout.h"
#include "calibrate/statistics/statistics_bytes.h"
#include "graph/operators/rectified_sum.h"

#include <algorithm>
#include <set>
#include <utility>

namespace tare {
namespace {

/// What decides a level: the values of its points, and the inputs of the nodes whose biases are
/// corrected or weights rounded.
std::vector<ValueId> watched_values(const CalibrationLevel& level) {
  std::set<ValueId> values;
  for (const QuantPoint* point : level.points) {
    values.insert(point->simulated);
  }
  for (const QuantPoint* point : level.accumulators) {
    if (point->corrects_bias || point->rounds_weight) {
      values.insert(point->simulated);
    }
  }
  for (const QuantPoint* point : level.weights) {
    values.insert(point->simulated);
  }
  return {values.begin(), values.end()};
}

/// The place of a value among those that are watched, which are sorted.
std::size_t place_of(ValueId value, std::span<const ValueId> watched) {
  const auto found = std::lower_bound(watched.begin(), watched.end(), value);
  return static_cast<std::size_t>(found - watched.begin());
}

/// One for each watched value, as its calibrator wants.
std::vector<Observed> start_observing(const CalibrationLevel& level,
                                      std::span<const ValueId> watched,
                                      std::span<const CalibratorInfo> calibrators,
                                      const Communicator* team) {
  std::vector<const QuantPoint*> points(watched.size());
  for (const QuantPoint* point : level.points) {
    points[place_of(point->simulated, watched)] = point;
  }
  std::vector<Observed> result;
  for (const QuantPoint* point : points) {
    result.push_back(start_observing(point, calibrators, team));
  }
  return result;
}

/// Merges what each process observed.
void share(Communicator& team, ObservedLevel& observed) {
  ByteWriter writer;
  for (const auto& [value, of_value] : observed.values) {
    add(of_value, writer);
  }
  for (const TensorStatistics& part : observed.visible) {
    add(part, writer);
  }
  std::map<ValueId, Observed> values;
  std::vector<TensorStatistics> visible(observed.visible.size());
  for (const std::string& message : team.gather(writer.take(), Message::kStatistics)) {
    ByteReader reader(message);
    for (const auto& entry : observed.values) {
      values[entry.first].merge(read_observed(reader));
    }
    for (TensorStatistics& part : visible) {
      part.merge(read_tensor_statistics(reader));
    }
  }
  observed = {std::move(values), std::move(visible)};
}

/// What shows the watched values, then the visible parts of rectified operands, then what is
/// kept.
Subgraph part_of(const CalibrationLevel& level, const PartBinder& parts,
                 const QuantTable& table, std::span<const ValueId> sources,
                 std::span<const ValueId> watched, std::span<const ValueId> kept) {
  std::vector<ValueId> results(watched.begin(), watched.end());
  for (const RectifiedOperand& operand : level.rectified) {
    results.push_back(operand.other);
  }
  results.insert(results.end(), kept.begin(), kept.end());
  Subgraph part = parts.bind(table, sources, results);
  std::vector<ValueId> outputs(part.graph.outputs().begin(), part.graph.outputs().end());
  for (std::size_t i = 0; i < level.rectified.size(); ++i) {
    const ValueId value = outputs[place_of(level.rectified[i].point->simulated, watched)];
    ValueId& other = outputs[watched.size() + i];
    other = add_visible_part(part.graph, value, add_hiding_bound(part.graph, other));
  }
  part.graph.set_outputs(std::move(outputs));
  return part;
}

}  // namespace

ObservedLevel observe_level(LayerwiseRunner& runner, const PartBinder& parts,
                            const QuantTable& table, const CalibrationLevel& level,
                            std::span<const ValueId> kept,
                            std::span<const CalibratorInfo> calibrators, Communicator* team,
                            RowsOfLayers& layers) {
  const std::vector<ValueId> watched = watched_values(level);
  std::vector<std::vector<LayerRows*>> rows(watched.size());
  for (auto& [point, layer] : layers) {
    rows[place_of(point->simulated, watched)].push_back(&layer);
  }
  struct OfWorker {
    std::vector<Observed> values;
    std::vector<TensorStatistics> visible;
  };
  std::vector<OfWorker> workers;
  for (int i = 0; i < runner.threads(); ++i) {
    workers.push_back({start_observing(level, watched, calibrators, team),
                       std::vector<TensorStatistics>(level.rectified.size())});
  }
  std::vector<ValueId> shown = watched;
  shown.resize(watched.size() + level.rectified.size());
  std::set<ValueId> undecided;
  for (const QuantPoint* point : level.points) {
    undecided.insert(point->simulated);
  }
  runner.step(
      part_of(level, parts, table, runner.cached_values(), watched, kept), shown, kept,
      undecided,
      [&](std::size_t worker, std::size_t run, std::size_t index, const TensorView& view) {
        if (index >= watched.size()) {
          workers[worker].visible[index - watched.size()].observe(view.elements<float>());
          return;
        }
        workers[worker].values[index].observe(view, runner.batch(), is_holdout(run));
        for (LayerRows* layer : rows[index]) {
          layer->observe(run, view);
        }
      });
  ObservedLevel observed;
  for (std::size_t i = 0; i < watched.size(); ++i) {
    for (std::size_t other = 1; other < workers.size(); ++other) {
      workers[0].values[i].merge(workers[other].values[i]);
    }
    observed.values.emplace(watched[i], std::move(workers[0].values[i]));
  }
  observed.visible = std::move(workers[0].visible);
  for (std::size_t i = 0; i < observed.visible.size(); ++i) {
    for (std::size_t other = 1; other < workers.size(); ++other) {
      observed.visible[i].merge(workers[other].visible[i]);
    }
  }
  if (team != nullptr) {
    share(*team, observed);
  }
  return observed;
}

}  // namespace tare
