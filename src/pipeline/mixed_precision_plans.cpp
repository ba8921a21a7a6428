// What stays in float for the sake of accuracy, and what gets 16 bits where nothing may be in
// float: sensitivities of points that are alone, and plans by them (search/mixed_precision.h).
#include "pipeline/mixed_precision_plans.h"

#include "calibrate/selection/choose.h"
#include "calibrate/selection/trial.h"
#include "calibrate/statistics/model_digest.h"
#include "execute/run/feed.h"
#include "graph/operators/scores.h"
#include "pipeline/slowdown.h"
#include "pipeline/stages.h"
#include "search/wide_activations.h"
#include "simulate/target_operator.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

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
/// An SQNR of 10 dB: of results that are off by more, none is worth its time.
constexpr double kUselessError = 0.1;
/// An SQNR of 40 dB: results that are a hundredth off on average.
constexpr double kSmallError = 1e-4;
/// An SQNR of 50 dB: few samples may leave out those with errors ten times as large.
constexpr double kTinyError = 1e-5;

/// A plan with the error of everything that it quantizes, together.
struct TriedPlan {
  MixedPrecisionPlan plan;
  double error = 0;
};

/// In dB: 1 dB makes up for 15 % of the time of the fastest plan. Errors below the tiny one are
/// all alike.
double worth(const TriedPlan& tried, double fastest) {
  constexpr double kDecibels = 1 / 0.15;
  const double longer = fastest > 0 ? tried.plan.nanoseconds / fastest - 1 : 0;
  return -10 * std::log10(std::max(tried.error, kTinyError)) - kDecibels * longer;
}

/// How much slower the plans are that are tried in turn, all of them above `first`: `usual` and
/// `most` for what they are worth, and then more for the sake of results that are of no use
/// otherwise.
std::vector<double> slowdowns_above(double first, double usual, double most) {
  std::vector<double> result;
  for (const double worthwhile : {usual, most}) {
    if (worthwhile > (result.empty() ? first : result.back())) {
      result.push_back(worthwhile);
    }
  }
  for (const double more : {0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0, 1.5, 2.0}) {
    if (more > most) {
      result.push_back(more);
    }
  }
  return result;
}

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
  return runs_within(kMultiplications, graph, 4, 16);
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

/// What plans are tried on: the network and, where it makes probabilities, that up to its
/// scores. Scores show errors that probabilities hide, except where there are many near a
/// threshold, as in maps.
struct Stages::PlanTrials {
  struct PlanTrial {
    Graph network;
    Trial trial;
  };

  PlanTrials(const Graph& whole, const Dataset& data, const CalibrateOptions& options) {
    add(whole, data, options);
    Graph scored = up_to_scores(whole);
    if (scored.nodes().size() != whole.nodes().size()) {
      add(std::move(scored), data, options);
    }
  }

  std::vector<PlanTrial> all{};

 private:
  void add(Graph network, const Dataset& data, const CalibrateOptions& options) {
    Trial trial(network, network, data, options, samples_of_plans(network));
    all.push_back({std::move(network), std::move(trial)});
  }
};

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
  if (patterns_.empty()) {
    return slowdown_of(config_, target_);
  }
  return usual_slowdown(config_, target_, result_.prepared,
                        config_.effort == Effort::kBest ? saved() : std::nullopt);
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

std::size_t Stages::first_unseen(const Dataset& data, const CalibrateOptions& options) const {
  const Graph& network = result_.simulated.source;
  const Feed feed(network, data, options.samples);
  const std::size_t seen = std::max<std::size_t>(
      runs_for_ranges(network, feed.runs()) * feed.batch(), observed_.samples);
  return seen + samples_of_plans(network) * feed.batch() <= feed.samples() ? seen : 0;
}

double Stages::error_of(const MixedPrecisionPlan& plan, const QuantTable& table,
                        const PlanTrials& trials) const {
  double largest = 0;
  for (const auto& [network, trial] : trials.all) {
    const SimulatedGraph simulated =
        tare::simulate(network, config_, target_, toolkit_->patterns, plan.float_nodes);
    largest = std::max(largest, error_together(simulated, table, trial));
  }
  return largest;
}

bool Stages::is_faster_than_float(const MixedPrecisionPlan& plan,
                                  const QuantTable& table) const {
  constexpr double kMuch = 1.1;
  const SimulatedGraph simulated = tare::simulate(result_.simulated.source, config_, target_,
                                                  toolkit_->patterns, plan.float_nodes);
  const auto time = predicted_time(simulated, table, toolkit_->patterns);
  return !simulated.regions.empty() && (!time || time->floats > kMuch * time->quantized);
}

double Stages::worthwhile_slowdown() const {
  constexpr double kMost = 0.15;
  constexpr double kShare = 0.25;
  const double usual = slowdown();
  // Only costs of a processor are exact enough to spend more of the time that they leave.
  if (config_.effort == Effort::kBest || target_.processor.empty()) {
    return usual;
  }
  return std::max(usual, std::min(kShare * saved().value_or(0), kMost));
}

MixedPrecisionPlan Stages::best_plan(const Dataset& data,
                                     const CalibrateOptions& options) const {
  return during("calibrating", [&] {
    const QuantTable table = independent_table(data, options);
    Sensitivities known;
    const auto plan_within = [&](double slowdown) {
      known = errors(data, options, table,
                     affordable_points(result_.simulated, config_, patterns_, slowdown),
                     {.known = std::move(known)});
      return best_plan_within(result_.simulated, config_, patterns_, known, slowdown);
    };
    if (config_.slowdown) {
      return plan_within(*config_.slowdown);
    }
    const std::size_t unseen = first_unseen(data, options);
    const PlanTrials trials(result_.simulated.source, data,
                            {.threads = options.threads,
                             .samples = options.samples,
                             .first = unseen,
                             .communicator = options.communicator});
    const auto tried = [&](MixedPrecisionPlan plan) {
      const double error = error_of(plan, table, trials);
      return TriedPlan{std::move(plan), error};
    };
    const double usual = slowdown();
    // Ranges fit the samples that they come from: what these say is not worth more time.
    const double most = unseen > 0 ? worthwhile_slowdown() : usual;
    const double first = config_.effort == Effort::kBest ? usual : 0;
    TriedPlan best = tried(plan_within(first));
    const double fastest = best.plan.nanoseconds;
    for (const double slowdown : slowdowns_above(first, usual, most)) {
      const bool is_worthwhile = slowdown <= most;
      if (best.error <= (slowdown <= usual ? kTinyError
                         : is_worthwhile   ? kSmallError
                                           : kLargeError)) {
        break;
      }
      MixedPrecisionPlan plan = plan_within(slowdown);
      if (!is_worthwhile && !is_faster_than_float(plan, table)) {
        break;
      }
      if (plan.float_nodes == best.plan.float_nodes) {
        continue;
      }
      TriedPlan other = tried(std::move(plan));
      const bool is_usable = !is_worthwhile && other.error <= kLargeError;
      const bool is_useless = !is_worthwhile && other.error > kUselessError;
      if (is_usable || (!is_useless && worth(other, fastest) > worth(best, fastest))) {
        best = std::move(other);
      }
    }
    return best.plan;
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
