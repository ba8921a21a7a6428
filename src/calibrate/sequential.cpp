#include "calibrate/accumulators.h"
#include "calibrate/audit.h"
#include "calibrate/choose.h"
#include "calibrate/held_back.h"
#include "calibrate/layer_rows.h"
#include "calibrate/levels.h"
#include "calibrate/observed.h"
#include "calibrate/round_weights.h"
#include "calibrate/sample_digests.h"
#include "calibrate/settle.h"
#include "calibrate/unify.h"
#include "calibrate/walk.h"
#include "simulate/part_binder.h"

#include <algorithm>
#include <set>

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

/// Rows of the layers whose weights are rounded, by accumulator or weight in blocks.
using RowsOfLayers = std::map<const QuantPoint*, LayerRows>;

/// How many accumulators multiply by each weight. One with several readers has no one layer
/// whose error counts.
std::map<std::string, int> count_readers(const SimulatedGraph& simulated) {
  std::map<std::string, int> result;
  for (const QuantPoint& point : simulated.points) {
    if (point.role == Role::kAccumulator) {
      ++result[point.weight];
    }
  }
  return result;
}

RowsOfLayers rows_of(const SimulatedGraph& simulated, const std::map<std::string, int>& readers,
                     const CalibrationLevel& level, std::size_t runs) {
  RowsOfLayers result;
  for (const QuantPoint* point : level.accumulators) {
    const Node& node = simulated.source.node(*point->reader);
    if (point->rounds_weight && layer_matrix(simulated.source, node) &&
        readers.at(point->weight) == 1) {
      result.emplace(point, LayerRows(simulated.source, node, runs));
    }
  }
  for (const QuantPoint* point : level.weights) {
    const Node& node = simulated.source.node(*point->reader);
    if (layer_matrix(simulated.source, node) && simulated.source.single_use(point->value)) {
      result.emplace(point, LayerRows(simulated.source, node, runs));
    }
  }
  return result;
}

/// The place of a value among those that are watched, which are sorted.
std::size_t place_of(ValueId value, std::span<const ValueId> watched) {
  const auto found = std::lower_bound(watched.begin(), watched.end(), value);
  return static_cast<std::size_t>(found - watched.begin());
}

/// One for each watched value, with the observers that calibrators want.
std::vector<Observed> start_observing(const CalibrationLevel& level,
                                      std::span<const ValueId> watched,
                                      std::span<const CalibratorInfo> calibrators) {
  std::vector<Observed> result(watched.size());
  for (const QuantPoint* point : level.points) {
    result[place_of(point->simulated, watched)].tensors = make_observer(*point, calibrators);
  }
  return result;
}

/// One step of the walk, with what is decided before it.
std::map<ValueId, Observed> observe(SampleWalk& walk, const PartBinder& parts,
                                    const QuantTable& table, const CalibrationLevel& level,
                                    std::span<const ValueId> kept,
                                    std::span<const CalibratorInfo> calibrators,
                                    RowsOfLayers& layers) {
  const std::vector<ValueId> watched = watched_values(level);
  std::vector<std::vector<LayerRows*>> rows(watched.size());
  for (auto& [point, layer] : layers) {
    rows[place_of(point->simulated, watched)].push_back(&layer);
  }
  std::vector<std::vector<Observed>> workers;
  for (int i = 0; i < walk.threads(); ++i) {
    workers.push_back(start_observing(level, watched, calibrators));
  }
  std::vector<ValueId> results = watched;
  results.insert(results.end(), kept.begin(), kept.end());
  walk.step(
      parts.bind(table, walk.frontier(), results), kept,
      [&](std::size_t worker, std::size_t run, std::size_t index, const TensorView& view) {
        workers[worker][index].observe(view, walk.batch(), is_held_back(run));
        for (LayerRows* layer : rows[index]) {
          layer->observe(run, view);
        }
      });
  std::map<ValueId, Observed> seen;
  for (std::size_t i = 0; i < watched.size(); ++i) {
    for (std::size_t other = 1; other < workers.size(); ++other) {
      workers[0][i].merge(workers[other][i]);
    }
    seen.emplace(watched[i], std::move(workers[0][i]));
  }
  return seen;
}

void decide(const SimulatedGraph& simulated, const CalibrationLevel& level,
            const std::map<ValueId, Observed>& seen, const RowsOfLayers& layers, int threads,
            std::span<const CalibratorInfo> calibrators, TableDraft& draft,
            CalibrationAudit* audit) {
  for (const QuantPoint* point : level.points) {
    const Observed& own = seen.at(point->simulated);
    std::vector<PointResult> results =
        choose_activation(own.values, own.tensors.get(), *point, calibrators);
    const ChannelSummary channels = own.all_channels();
    audit_activation(*point, results[std::min(draft.lead, results.size() - 1)], calibrators,
                     &channels, audit);
    for (PointResult& result : results) {
      move_off_grid(point->spec, calibrators, result);
    }
    draft.add(point->name, std::move(results));
  }
  for (const QuantPoint* point : level.accumulators) {
    if (point->corrects_bias) {
      draft.means.emplace(point->name, seen.at(point->simulated).channel_means());
    }
  }
  // Steps first make room for biases; then integers are chosen, and then what they lose.
  derive_accumulators(simulated, level.accumulators, {}, draft.table);
  for (const auto& [point, rows] : layers) {
    const Summary& operand = seen.at(point->simulated).values;
    if (operand.nan() + operand.infinite() == 0) {  // which only operands in float may have
      round_weights(simulated, *point, rows, threads, draft.table);
    }
  }
  derive_accumulators(simulated, level.accumulators, draft.means, draft.table);
}

/// All levels, one after another.
TableDraft decide_levels(const SimulatedGraph& simulated, const Dataset& data,
                         std::span<const CalibratorInfo> calibrators, std::size_t lead,
                         const CalibrateOptions& options, CalibrationAudit* audit) {
  TableDraft draft;
  draft.lead = lead;
  choose_weights(simulated, calibrators, options.threads, draft.table);
  const std::vector<CalibrationLevel> levels = plan_levels(simulated);
  const std::map<std::string, int> readers = count_readers(simulated);
  const PartBinder parts(simulated);
  const SampleDigests samples(data);
  SampleWalk walk(simulated.source, samples, options);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (options.progress) {
      walk.progress = [&](std::size_t done) {
        options.progress(i * walk.samples() + done, levels.size() * walk.samples());
      };
    }
    const auto kept = i == 0 ? std::span<const ValueId>() : levels[i - 1].frontier;
    RowsOfLayers layers = rows_of(simulated, readers, levels[i], walk.runs());
    const auto seen = observe(walk, parts, draft.table, levels[i], kept, calibrators, layers);
    decide(simulated, levels[i], seen, layers, walk.threads(), calibrators, draft, audit);
  }
  unify_activations(simulated, draft.means, draft.table);
  audit_samples(samples, audit);
  return draft;
}

}  // namespace

QuantTable calibrate_sequentially(const SimulatedGraph& simulated, const Dataset& data,
                                  std::span<const CalibratorInfo> calibrators,
                                  const CalibrateOptions& options, CalibrationAudit* audit) {
  require_calibrators(simulated, calibrators);
  // Later ranges and the rounding of weights depend on the candidates before them, so each
  // leads a walk of its own.
  return settle(simulated, calibrators, data, options, audit,
                [&](std::size_t lead, const CalibrateOptions& part, CalibrationAudit* own) {
                  return decide_levels(simulated, data, calibrators, lead, part, own);
                });
}

}  // namespace tare
