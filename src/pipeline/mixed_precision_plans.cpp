// What stays in float for the sake of accuracy, and what gets 16 bits where nothing may be in
// float: sensitivities of points that are alone, and plans by them (search/mixed_precision.h).
#include "pipeline/mixed_precision_plans.h"

#include "calibrate/selection/choose.h"
#include "calibrate/selection/trial.h"
#include "calibrate/statistics/model_digest.h"
#include "execute/run/feed.h"
#include "graph/operators/detection_head.h"
#include "graph/operators/scores.h"
#include "pipeline/stages.h"
#include "search/wide_activations.h"
#include "simulate/target_operator.h"

#include <algorithm>
#include <optional>

namespace tare {
namespace {

/// How many samples each of so many points is tried on: all trials together are not to take
/// longer than a pass over the samples, if that leaves some. A single one would leave the order
/// of points to chance, but where the network is large.
std::size_t tried_samples(const Graph& graph, std::size_t used, std::size_t points) {
  constexpr std::size_t kLeast = 2;
  constexpr std::size_t kEnough = 8;
  constexpr double kMultiplications = 4e9;
  const std::size_t usual =
      std::clamp(used / std::max<std::size_t>(points, 1), kLeast, kEnough);
  return runs_within(kMultiplications, graph, 1, usual);
}

/// An SQNR of 20 dB: results that are a tenth off on average.
constexpr double kLargeError = 0.01;
/// How many of so many runs show the ranges that points are tried with, roughly: the schedule
/// that decides them for good looks at all.
std::size_t runs_for_ranges(const Graph& graph, std::size_t runs) {
  constexpr std::size_t kOneIn = 4;
  constexpr std::size_t kUsually = 16;
  constexpr std::size_t kLeast = 4;
  constexpr double kMultiplications = 1.6e10;
  const std::size_t usual = std::max(runs / kOneIn, kUsually);
  return std::min(runs_within(kMultiplications, graph, kLeast, usual), runs);
}

/// How many samples a plan is judged on.
std::size_t samples_of_plans(const Graph& graph) {
  constexpr double kMultiplications = 1.6e10;
  return runs_within(kMultiplications, graph, 4, 8);
}

/// Each that tries others takes the first of them.
std::vector<CalibratorInfo> that_try_no_others(std::span<const CalibratorInfo> calibrators) {
  std::vector<CalibratorInfo> result(calibrators.begin(), calibrators.end());
  for (CalibratorInfo& calibrator : result) {
    calibrator.candidates.resize(std::min<std::size_t>(calibrator.candidates.size(), 1));
  }
  return result;
}

}  // namespace

std::optional<double> Stages::saved() const {
  if (config_.objective.value_or(target_.objective) != Objective::kLatency) {
    return std::nullopt;
  }
  QuantTable all;
  for (const QuantPoint& point : result_.simulated.points) {
    all[point.name].enabled = true;
  }
  const auto time = predicted_time(result_.simulated, all, toolkit_->patterns);
  return time ? std::optional(std::max(time->floats / time->quantized - 1, 0.0)) : std::nullopt;
}

double Stages::slowdown() const {
  // Scores hide small errors, since the largest one stays the largest. Boxes are numbers.
  constexpr double kOfDetector = 0.15;
  if (config_.slowdown || patterns_.empty()) {
    return slowdown_of(config_, target_);
  }
  const double usual =
      slowdown_of(config_, target_, config_.effort == Effort::kBest ? saved() : std::nullopt);
  return usual > 0 && !detection_head(result_.prepared).empty() ? std::max(usual, kOfDetector)
                                                                : usual;
}

QuantTable Stages::independent_table(const Dataset& data,
                                     const CalibrateOptions& options) const {
  const SimulatedGraph& simulated = result_.simulated;
  const std::vector<CalibratorInfo> calibrators = that_try_no_others(toolkit_->calibrators);
  const bool look_at_values =
      std::any_of(simulated.points.begin(), simulated.points.end(), [&](const QuantPoint& p) {
        return p.role == Role::kActivation && make_observer(p, calibrators) != nullptr;
      });
  // Equalizing observed the same network.
  if (!look_at_values && observed_.samples > 0 &&
      observed_.model == model_digest(simulated.source)) {
    return choose(simulated, observed_, calibrators, nullptr, options.threads);
  }
  const Feed feed(simulated.source, data, options.samples);
  CalibrateOptions some = options;
  some.samples = runs_for_ranges(simulated.source, feed.runs()) * feed.batch();
  return tare::calibrate(simulated, data, calibrators, some);
}

Sensitivities Stages::errors(const Dataset& data, const CalibrateOptions& options,
                             const QuantTable& table, const std::set<std::string>& points,
                             const MeasuredSensitivities& measured) const {
  const std::size_t used = options.samples == 0 ? data.size() : options.samples;
  const SimulatedGraph scored = tare::simulate(up_to_scores(result_.simulated.source), config_,
                                               target_, toolkit_->patterns);
  return sensitivities(scored, table, points, data,
                       {.threads = options.threads,
                        .samples = options.samples,
                        .communicator = options.communicator},
                       tried_samples(scored.source, used, points.size()), measured);
}

std::vector<MixedPrecisionPlan> Stages::mixed_precision_plans(
    const Dataset& data, const CalibrateOptions& options, double slowdown,
    const MeasuredSensitivities& measured) const {
  return during("calibrating", [&] {
    if (may_widen()) {
      return wide_activation_plans(result_.simulated, widenable(),
                                   all_errors(data, options, measured));
    }
    return pareto_plans(
        result_.simulated, config_, patterns_,
        errors(data, options, independent_table(data, options),
               affordable_points(result_.simulated, config_, patterns_, slowdown), measured),
        slowdown);
  });
}

double Stages::error_of(const MixedPrecisionPlan& plan, const Dataset& data,
                        const CalibrateOptions& options, const QuantTable& table) const {
  const auto error = [&](const Graph& network) {
    return error_together(
        tare::simulate(network, config_, target_, toolkit_->patterns, plan.float_nodes), table,
        data,
        {.threads = options.threads,
         .samples = options.samples,
         .communicator = options.communicator},
        samples_of_plans(network));
  };
  // Scores show errors that probabilities hide, except where there are many near a threshold,
  // as in maps.
  const Graph scored = up_to_scores(result_.simulated.source);
  const double whole = error(result_.simulated.source);
  const bool has_scores = scored.nodes().size() != result_.simulated.source.nodes().size();
  return has_scores ? std::max(whole, error(scored)) : whole;
}

bool Stages::is_faster_than_float(const MixedPrecisionPlan& plan,
                                  const QuantTable& table) const {
  constexpr double kMuch = 1.1;
  const SimulatedGraph simulated = tare::simulate(result_.simulated.source, config_, target_,
                                                  toolkit_->patterns, plan.float_nodes);
  const auto time = predicted_time(simulated, table, toolkit_->patterns);
  return !simulated.regions.empty() && (!time || time->floats > kMuch * time->quantized);
}

std::vector<double> Stages::slowdowns() const {
  std::vector<double> result{slowdown()};
  if (!config_.slowdown) {
    for (const double more : {0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0, 1.5, 2.0}) {
      if (more > result[0]) {
        result.push_back(more);
      }
    }
  }
  return result;
}

MixedPrecisionPlan Stages::best_plan(const Dataset& data,
                                     const CalibrateOptions& options) const {
  return during("calibrating", [&] {
    const QuantTable table = independent_table(data, options);
    Sensitivities known;
    std::optional<MixedPrecisionPlan> usual;
    for (const double slowdown : slowdowns()) {
      const std::set<std::string> points =
          affordable_points(result_.simulated, config_, patterns_, slowdown);
      if (usual && points.empty()) {
        continue;
      }
      known = errors(data, options, table, points, {.known = std::move(known)});
      MixedPrecisionPlan plan =
          best_plan_within(result_.simulated, config_, patterns_, known, slowdown);
      if (usual && !is_faster_than_float(plan, table)) {
        break;
      }
      if (error_of(plan, data, options, table) <= kLargeError) {
        return plan;
      }
      if (!usual) {
        usual = std::move(plan);
      }
    }
    return *usual;
  });
}

bool Stages::may_widen() const {
  return config_.objective.value_or(target_.objective) == Objective::kCoverage &&
         has_wide_kernels(target_);
}

std::set<std::string> Stages::widenable() const {
  const SimulatedGraph& simulated = result_.simulated;
  std::set<std::string> narrow;
  for (const QuantPoint& point : simulated.points) {
    if (point.role == Role::kActivation && size_of(point.spec.storage) == 1) {
      narrow.insert(point.name);
    }
  }
  const SimulatedGraph wide = tare::simulate(simulated.source, config_, target_, patterns_,
                                             result_.float_nodes, narrow);
  std::erase_if(narrow, [&](const std::string& name) {
    const QuantPoint* point = wide.find(name);
    return point == nullptr || size_of(point->spec.storage) == 1;
  });
  return narrow;
}

Sensitivities Stages::all_errors(const Dataset& data, const CalibrateOptions& options,
                                 const MeasuredSensitivities& measured) const {
  std::set<std::string> points;
  for (const QuantPoint& point : result_.simulated.points) {
    if (point.role != Role::kAccumulator) {
      points.insert(point.name);
    }
  }
  return errors(data, options, independent_table(data, options), points, measured);
}

std::set<std::string> Stages::wide_values_within(const Dataset& data,
                                                 const CalibrateOptions& options,
                                                 double slowdown) const {
  return during("calibrating", [&]() -> std::set<std::string> {
    const auto candidates = may_widen() ? widenable() : std::set<std::string>();
    if (candidates.empty()) {
      return {};
    }
    return wide_activations(result_.simulated, candidates, all_errors(data, options, {}),
                            slowdown);
  });
}

std::vector<MixedPrecisionPlan> mixed_precision_plans(const Graph& model, const Dataset& data,
                                                      const Config& config,
                                                      const Toolkit& toolkit,
                                                      const CalibrateOptions& options,
                                                      const MeasuredSensitivities& measured) {
  Stages stages(model, config, toolkit);
  stages.keep_small_divisors(data, options);
  stages.equalize(data, options);
  stages.simulate();
  // Slower than any network that stays float.
  constexpr double kAny = 1e6;
  return stages.mixed_precision_plans(data, options, kAny, measured);
}

}  // namespace tare
