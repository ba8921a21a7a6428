// The sequential schedule: points are decided level by level (levels.h), on values that carry
// the quantization error of all points before them, so that ranges, rounding and biases can
// make up for it. AdaRound and GPTQ calibrate in this order for the same reason (Nagel, Amjad,
// van Baalen, Louizos and Blankevoort, "Up or Down? Adaptive Rounding for Post-Training
// Quantization", 2020; GPTQ as in gptq.cpp).
//
// Within a level the order matters: ranges first; then scales of weights are widened where
// biases or sums would not fit; then weights are rounded for the inputs as they are now; then
// biases are corrected for that rounding.
//
// Cost: about one run of the network for each sample, two where the memory is small
// (layerwise_runner.cpp), GPTQ for each
// layer, and all of that once for each primary candidate. Memory: the activation cache, and for
// one level at a time its statistics for each thread and the rows of its layers.
#include "base/parallel.h"
#include "calibrate/audit/audit.h"
#include "calibrate/calibrate.h"
#include "calibrate/rounding/accumulators.h"
#include "calibrate/rounding/layer_rows.h"
#include "calibrate/rounding/round_weights.h"
#include "calibrate/selection/choose.h"
#include "calibrate/selection/masked_scores.h"
#include "calibrate/selection/select_calibrators.h"
#include "calibrate/selection/unify.h"
#include "calibrate/sequential/layerwise_runner.h"
#include "calibrate/sequential/levels.h"
#include "calibrate/sequential/observe_level.h"
#include "calibrate/statistics/observed.h"
#include "calibrate/statistics/sample_digests.h"
#include "calibrate/statistics/share_parts.h"
#include "calibrate/statistics/shares.h"
#include "simulate/part_binder.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace tare {
namespace {

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

/// Gives each process the rows of a layer that the others have.
void share_rows(Communicator& team, const QuantPoint& point, const QuantTable& table,
                LayerRows& rows) {
  const std::optional<ByteSteps> steps =
      point.role == Role::kWeight  // in blocks, beside inputs that are not rounded
          ? std::nullopt
          : std::optional<ByteSteps>(table.at(point.input).params);
  const auto runs_of = [&](int rank) { return share_of(rows.runs(), &team, rank); };
  share_parts(
      team, Message::kRows,
      [&](int rank) { return rows.bytes_of(runs_of(rank).first, runs_of(rank).end, steps); },
      [&](std::span<std::byte> own) {
        const Share runs = runs_of(team.rank());
        rows.write_rows_of(runs.first, runs.end, steps, own);
      },
      [&](int rank, std::span<const std::byte> theirs) {
        rows.read_rows_of(runs_of(rank).first, runs_of(rank).end, steps, theirs);
      });
}

/// Rounds the weights of a level's layers, which do not depend on each other: side by side
/// where there are enough of them for all threads, else one after another, each by all threads.
void round_layers(const SimulatedGraph& simulated, const ObservedLevel& observed,
                  RowsOfLayers& layers, int threads, Communicator* team, QuantTable& table) {
  std::vector<RowsOfLayers::value_type*> all;
  for (auto& layer : layers) {
    const TensorStatistics& operand = observed.of(*layer.first).values;
    if (operand.nan() + operand.infinite() == 0) {  // which only operands in float may have
      all.push_back(&layer);
    }
  }
  // Processes have to talk about the same layer.
  const bool are_many = team == nullptr && all.size() >= static_cast<std::size_t>(threads);
  parallel_for(all.size(), are_many ? threads : 1, [&](std::size_t, std::size_t i) {
    if (team != nullptr) {
      share_rows(*team, *all[i]->first, table, all[i]->second);
    }
    round_weights(simulated, *all[i]->first, all[i]->second, threads, table, team);
  });
}

void decide(const SimulatedGraph& simulated, const CalibrationLevel& level,
            ObservedLevel observed, RowsOfLayers& layers, int threads, Communicator* team,
            std::span<const CalibratorInfo> calibrators, CandidateTable& candidate_table,
            CalibrationAudit* audit) {
  std::map<const QuantPoint*, TensorStatistics> visible;
  for (std::size_t i = 0; i < level.rectified.size(); ++i) {
    visible.emplace(level.rectified[i].point, std::move(observed.visible[i]));
  }
  for (const QuantPoint* point : level.points) {
    const Observed& own = observed.of(*point);
    std::vector<PointResult> results = choose_activation(
        simulated, own.values, own.observer.get(), *point, calibrators,
        {.lowest_score = lowest_score(simulated, *point, candidate_table.table),
         .visible = std::move(visible[point])});
    const ChannelStatistics channels = own.all_channels();
    audit_activation(*point, results[std::min(candidate_table.primary, results.size() - 1)],
                     calibrators, &channels, audit);
    for (PointResult& result : results) {
      avoid_rounding_ties(point->spec, calibrators, result);
    }
    candidate_table.add(point->name, std::move(results));
  }
  for (const QuantPoint* point : level.accumulators) {
    if (point->corrects_bias && !observed.of(*point).mixed_channels) {
      candidate_table.means.emplace(point->name, observed.of(*point).channel_means());
    }
  }
  // Scales are first widened for biases; then weights are rounded, and then biases corrected
  // for that.
  derive_accumulators(simulated, level.accumulators, {}, candidate_table.table, threads);
  round_layers(simulated, observed, layers, threads, team, candidate_table.table);
  derive_accumulators(simulated, level.accumulators, candidate_table.means,
                      candidate_table.table, threads);
}

/// What is in the table of a level and was decided with it.
LevelDecisions decisions_of(const CalibrationLevel& level, const CandidateTable& all,
                            std::vector<Warning> warnings) {
  LevelDecisions result;
  result.warnings = std::move(warnings);
  const auto take = [](const auto& from, const std::string& name, auto& to) {
    if (const auto found = from.find(name); found != from.end()) {
      to.insert(*found);
    }
  };
  for (const auto* points : {&level.points, &level.accumulators, &level.weights}) {
    for (const QuantPoint* point : *points) {
      take(all.table, point->name, result.table);
      take(all.table, point->weight, result.table);
      take(all.candidates, point->name, result.candidates);
      take(all.means, point->name, result.means);
    }
  }
  return result;
}

void put(LevelDecisions decisions, CandidateTable& all, CalibrationAudit* audit) {
  for (auto& [name, result] : decisions.table) {
    all.table[name] = std::move(result);
  }
  all.candidates.merge(decisions.candidates);
  all.means.merge(decisions.means);
  if (audit != nullptr) {
    std::move(decisions.warnings.begin(), decisions.warnings.end(),
              std::back_inserter(audit->warnings));
  }
}

/// Reads this process's share of the samples, so that they get their digests.
void read_all(const Graph& graph, const Dataset& data, const CalibrateOptions& options,
              const Communicator* team) {
  const Feed feed = own_feed(graph, data, options.samples, 0, team);
  for (std::size_t chunk = 0; chunk < feed.chunks(); ++chunk) {
    feed.for_each_run(chunk, [](std::size_t, std::span<const Tensor>) {});
  }
}

/// The processes that share the samples; null where a calibrator looks at the values themselves
/// and would have to tell the others what it saw.
Communicator* team_for(const SimulatedGraph& simulated,
                       std::span<const CalibratorInfo> calibrators,
                       const CalibrateOptions& options) {
  const bool look_at_values = std::any_of(
      simulated.points.begin(), simulated.points.end(), [&](const QuantPoint& point) {
        return point.role == Role::kActivation && make_observer(point, calibrators) != nullptr;
      });
  return look_at_values ? nullptr : options.communicator;
}

/// All levels, one after another.
CandidateTable decide_levels(const SimulatedGraph& simulated, const Dataset& data,
                             std::span<const CalibratorInfo> calibrators, std::size_t primary,
                             const CalibrateOptions& options, CalibrationAudit* audit,
                             LevelJournal* journal) {
  CandidateTable candidate_table;
  candidate_table.primary = primary;
  choose_weights(simulated, calibrators, options.threads, candidate_table.table);
  const std::vector<CalibrationLevel> levels = plan_levels(simulated);
  const std::map<std::string, int> readers = count_readers(simulated);
  const PartBinder parts(simulated);
  SampleDigests samples(data);
  Communicator* const team = team_for(simulated, calibrators, options);
  LayerwiseRunner runner(simulated.source, samples, options, team);
  bool is_resumed = false;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (options.progress) {
      runner.progress = [&](std::size_t done) {
        options.progress(i * runner.samples() + done, levels.size() * runner.samples());
      };
    }
    if (auto known = journal == nullptr ? std::nullopt : journal->next()) {
      put(*std::move(known), candidate_table, audit);
      is_resumed = true;
      continue;  // the first level behind these starts at the inputs
    }
    const std::size_t warned = audit == nullptr ? 0 : audit->warnings.size();
    const auto kept = i == 0 ? std::span<const ValueId>() : levels[i - 1].cached_values;
    RowsOfLayers layers = rows_of(simulated, readers, levels[i], runner.runs());
    ObservedLevel observed = observe_level(runner, parts, candidate_table.table, levels[i],
                                           kept, calibrators, team, layers);
    decide(simulated, levels[i], std::move(observed), layers, runner.threads(), team,
           calibrators, candidate_table, audit);
    if (journal != nullptr) {
      std::vector<Warning> warnings;
      if (audit != nullptr) {
        warnings.assign(audit->warnings.begin() + static_cast<std::ptrdiff_t>(warned),
                        audit->warnings.end());
      }
      journal->add(decisions_of(levels[i], candidate_table, std::move(warnings)));
    }
  }
  if (is_resumed) {
    read_all(simulated.source, samples, options, team);
  }
  if (team != nullptr) {
    samples.share(*team);
  }
  unify_activations(simulated, candidate_table.means, candidate_table.table);
  audit_samples(samples, audit);
  return candidate_table;
}

}  // namespace

QuantTable calibrate_sequentially(const SimulatedGraph& simulated, const Dataset& data,
                                  std::span<const CalibratorInfo> calibrators,
                                  const CalibrateOptions& options, CalibrationAudit* audit,
                                  LevelJournal* journal) {
  require_calibrators(simulated, calibrators);
  // Later ranges and the rounding of weights depend on the candidates before them, so each is
  // primary in a pass of its own.
  return select_calibrators(
      simulated, calibrators, data, options, audit,
      [&](std::size_t primary, const CalibrateOptions& part, CalibrationAudit* own) {
        return decide_levels(simulated, data, calibrators, primary, part, own, journal);
      });
}

}  // namespace tare
