#include "calibrate/accumulators.h"
#include "calibrate/audit.h"
#include "calibrate/choose.h"
#include "calibrate/levels.h"
#include "calibrate/observed.h"
#include "calibrate/sample_digests.h"
#include "calibrate/trial.h"
#include "calibrate/walk.h"

#include <algorithm>
#include <set>

namespace tare {
namespace {

/// What decides a level: the values of its points, and the inputs of the nodes whose biases are
/// corrected.
std::vector<ValueId> watched_values(const Level& level) {
  std::set<ValueId> values;
  for (const QuantPoint* point : level.points) {
    values.insert(point->simulated);
  }
  for (const QuantPoint* point : level.accumulators) {
    if (point->corrects_bias) {
      values.insert(point->simulated);
    }
  }
  return {values.begin(), values.end()};
}

std::map<ValueId, Observed> observe(Walk& walk, const Graph& graph, const Level& level,
                                    std::span<const ValueId> kept) {
  const std::vector<ValueId> watched = watched_values(level);
  std::vector<std::vector<Observed>> workers(static_cast<std::size_t>(walk.threads()),
                                             std::vector<Observed>(watched.size()));
  walk.step(graph, watched, kept,
            [&](std::size_t worker, std::size_t index, const TensorView& view) {
              workers[worker][index].observe(view, walk.batch());
            });
  std::map<ValueId, Observed> seen;
  for (const std::vector<Observed>& worker : workers) {
    for (std::size_t i = 0; i < watched.size(); ++i) {
      seen[watched[i]].merge(worker[i]);
    }
  }
  return seen;
}

void decide(const SimulatedGraph& simulated, const Level& level,
            const std::map<ValueId, Observed>& seen,
            std::span<const CalibratorInfo> calibrators, Draft& draft,
            CalibrationAudit* audit) {
  for (const QuantPoint* point : level.points) {
    const Observed& own = seen.at(point->simulated);
    std::vector<PointResult> results = choose_activation(own.values, *point, calibrators);
    audit_activation(simulated, *point, results.front(), calibrators, own.values, &own.channels,
                     audit);
    for (PointResult& result : results) {
      move_off_grid(point->spec, calibrators, result);
    }
    draft.add(point->name, std::move(results));
  }
  for (const QuantPoint* point : level.accumulators) {
    if (point->corrects_bias) {
      draft.means.emplace(point->name, seen.at(point->simulated).channels.means());
    }
  }
  derive_accumulators(simulated, level.accumulators, draft.means, draft.table);
}

}  // namespace

QuantTable calibrate_sequentially(const SimulatedGraph& simulated, const Dataset& data,
                                  std::span<const CalibratorInfo> calibrators,
                                  const CalibrateOptions& options, CalibrationAudit* audit) {
  require_calibrators(simulated, calibrators);
  Draft draft;
  for (const QuantPoint& point : simulated.points) {
    if (point.role == Role::kWeight) {
      draft.table.emplace(point.name, choose_weight(simulated, point, calibrators));
    }
  }
  const std::vector<Level> levels = plan_levels(simulated);
  const SampleDigests samples(data);
  Walk walk(simulated.source, samples, options);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (options.progress) {
      walk.progress = [&](std::size_t done) {
        options.progress(i * walk.samples() + done, levels.size() * walk.samples());
      };
    }
    const auto kept = i == 0 ? std::span<const ValueId>() : levels[i - 1].frontier;
    const auto seen = observe(walk, tare::bind(simulated, draft.table), levels[i], kept);
    decide(simulated, levels[i], seen, calibrators, draft, audit);
  }
  audit_samples(samples, audit);
  return settle(simulated, std::move(draft), data, options);
}

}  // namespace tare
