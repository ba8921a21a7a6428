#include "pipeline/stages.h"

#include "tare/error.h"

#include "calibrate/selection/choose.h"
#include "calibrate/statistics/denormals.h"
#include "calibrate/statistics/model_digest.h"
#include "graph/arithmetic/node_arithmetic.h"
#include "graph/operators/scores.h"
#include "lower/forms/forms.h"
#include "lower/lower.h"
#include "search/sensitivities.h"
#include "simulate/check_demands.h"

#include <algorithm>

namespace tare {
namespace {

/// What files say in their metadata alone, since their operators have no word for it.
void audit_rescaling(const Config& config, std::vector<Warning>& warnings) {
  if (config.requantize.mode() != RequantizeMode{}) {
    const Attributes words = to_attributes(config.requantize.mode());
    warnings.push_back({"requantize_of_file", "requantize.rounding",
                        "ONNX operators cannot express '" + words.text("rounding") +
                            "', only the file's metadata can; engines that run the file "
                            "rescale in float32 and round halves to even, and so do reports"});
  }
}

/// The same of the configured accumulator, and where it may still overflow although it was not
/// to.
void audit_accumulators(const Config& config, const Graph& integer,
                        std::vector<Warning>& warnings) {
  if (config.accumulator == Accumulator{}) {
    return;
  }
  warnings.push_back({"accumulator_of_file", "accumulator",
                      "ONNX operators cannot express accumulators of " +
                          std::to_string(config.accumulator.bits) +
                          " bits, only the file's metadata can; engines that run the file use "
                          "32, and so do reports"});
  for (const AccumulatorRange& sums : worst_case_accumulators(integer)) {
    if (config.avoid_overflow && !sums.range.fits(config.accumulator)) {
      warnings.push_back({"accumulator_overflow", "node '" + integer.node(sums.node).name + "'",
                          "may need " + std::to_string(sums.range.bits()) +
                              " bits, as both of its factors are computed"});
    }
  }
}

/// What the target computes on in float, although it was asked for on integers.
void audit_storage(const SimulatedGraph& simulated, const QuantTable& table,
                   std::vector<Warning>& warnings) {
  const auto wide = std::count_if(table.begin(), table.end(), [](const auto& entry) {
    return entry.second.enabled && size_of(entry.second.params.storage) == 2;
  });
  if (wide > 0 && !simulated.target.operators.empty()) {
    warnings.push_back({"wide_activations", "target '" + simulated.target.name + "'",
                        "computes in float on values of 16 bits, as " + std::to_string(wide) +
                            " of this network have, and converts them"});
  }
}

/// How many samples each of so many points is tried on: all trials together are not to take
/// longer than a pass over the samples, if that leaves some. A single one would leave the order
/// of points to chance.
std::size_t tried_samples(std::size_t used, std::size_t points) {
  constexpr std::size_t kLeast = 2;
  constexpr std::size_t kEnough = 8;
  return std::clamp(used / std::max<std::size_t>(points, 1), kLeast, kEnough);
}

/// With the best effort all calibrators are tried where none was asked for.
Config with_effort(Config config, const Toolkit& toolkit) {
  const auto names = toolkit.calibrator_names();
  if (config.effort == Effort::kBest &&
      config.activations.calibrator == Config().activations.calibrator &&
      std::find(names.begin(), names.end(), "auto") != names.end()) {
    config.activations.calibrator = {.name = "auto", .options = {}};
  }
  return config;
}

/// Each that tries others takes the first of them.
std::vector<CalibratorInfo> that_try_no_others(std::span<const CalibratorInfo> calibrators) {
  std::vector<CalibratorInfo> result(calibrators.begin(), calibrators.end());
  for (CalibratorInfo& calibrator : result) {
    calibrator.candidates.resize(std::min<std::size_t>(calibrator.candidates.size(), 1));
  }
  return result;
}

/// A quantized model in which nothing is left to be quantized.
bool runs_on_integers(const Graph& model, const Toolkit& toolkit) {
  return is_quantized(model) && float_operators(lower_quantized(model, {}, toolkit)).empty();
}

}  // namespace

void check_fallback(const Config& config, const Graph& integer,
                    const std::vector<KeptFloat>& kept) {
  if (config.may_fall_back) {
    return;
  }
  Faults faults;
  for (const std::string& name : float_operators(integer)) {
    const auto known = std::find_if(kept.begin(), kept.end(),
                                    [&](const KeptFloat& k) { return k.node == name; });
    const std::string& op = integer.node(*integer.find_node(name)).op;
    faults.add("node '" + name + "' (" + op + ")",
               "stays in float, which 'fallback' forbids: " +
                   (known != kept.end() ? known->reason
                                        : "not all of its operands and results are quantized"));
  }
  faults.raise(ErrorCode::kUnsupported);
}

void require_numbers(const Graph& graph) {
  Faults faults;
  for (const Warning& broken : invalid_constants(graph)) {
    faults.add(broken.where, broken.what);
  }
  if (!faults.empty()) {
    throw Error(ErrorCode::kInvalidModel, faults.all())
        .hint("the float model does not compute sensible results either, see 'tare run'");
  }
}

Stages::Stages(const Graph& model, const Config& config, const Toolkit& toolkit)
    : config_(with_effort(config, toolkit)),
      toolkit_(&toolkit),
      target_(target_of(config, toolkit)) {
  during("reading the configuration", [&] { check_calibrators(config, toolkit.calibrators); });
  require_numbers(model);  // by the names of the file, and of what it computes from constants
  result_.prepared = during("preparing the graph", [&] { return prepare(model, toolkit); });
  require_numbers(result_.prepared);
  during("applying 'layers'", [&] { check_rules(model, result_.prepared, config); });
  if (runs_on_integers(model, toolkit)) {
    config_.objective = Objective::kLatency;  // which without patterns leaves all as it is
  } else {
    patterns_ = toolkit.patterns;
  }
}

void Stages::equalize(const Dataset& data, const CalibrateOptions& options) {
  if (schedule_of(config_) == Schedule::kSequential) {
    use(during("calibrating", [&] {
      return equalization_factors(result_.prepared, data, config_, target_, patterns_,
                                  toolkit_->calibrators, options, &observed_);
    }));
    if (!result_.factors.empty()) {
      observed_ = {};
    }
  }
}

void Stages::calibrate(const Dataset& data, const CalibrateOptions& options,
                       LevelJournal* journal) {
  decide("calibrating", [&](const SimulatedGraph& simulated, CalibrationAudit& audit) {
    return is_sequential()
               ? calibrate_sequentially(simulated, data, toolkit_->calibrators, options, &audit,
                                        journal)
               : tare::calibrate(simulated, data, toolkit_->calibrators, options, &audit);
  });
}

void Stages::simulate() {
  result_.simulated = during("simulating", [&] {
    return tare::simulate(tare::equalize(result_.prepared, result_.factors), config_, target_,
                          patterns_, result_.float_nodes);
  });
  if (!patterns_.empty()) {
    during("applying 'layers'", [&] { check_demands(result_.simulated, config_); });
  }
}

QuantTable Stages::independent_table(const Dataset& data,
                                     const CalibrateOptions& options) const {
  const SimulatedGraph& simulated = result_.simulated;
  const std::vector<CalibratorInfo> calibrators = that_try_no_others(toolkit_->calibrators);
  const bool look_at_values =
      std::any_of(simulated.points.begin(), simulated.points.end(), [&](const QuantPoint& p) {
        return p.role == Role::kActivation && make_observer(p, calibrators) != nullptr;
      });
  // Equalizing observed the same network, on all samples where these are few.
  const std::size_t used = options.samples == 0 ? data.size() : options.samples;
  return !look_at_values && observed_.samples == used &&
                 observed_.model == model_digest(simulated.source)
             ? choose(simulated, observed_, calibrators, nullptr, options.threads)
             : tare::calibrate(simulated, data, calibrators, options);
}

Sensitivities Stages::errors(const Dataset& data, const CalibrateOptions& options,
                             double slowdown, const MeasuredSensitivities& measured) const {
  const SimulatedGraph& simulated = result_.simulated;
  const auto points = affordable_points(simulated, config_, patterns_, slowdown);
  // Each point is tried alone, so it gets the parameters that suit the float network.
  const QuantTable table = independent_table(data, options);
  const std::size_t used = options.samples == 0 ? data.size() : options.samples;
  const SimulatedGraph scored =
      tare::simulate(up_to_scores(simulated.source), config_, target_, toolkit_->patterns);
  return sensitivities(scored, table, points, data,
                       {.threads = options.threads,
                        .samples = options.samples,
                        .communicator = options.communicator},
                       tried_samples(used, points.size()), measured);
}

std::vector<MixedPrecisionPlan> Stages::mixed_precision_plans(
    const Dataset& data, const CalibrateOptions& options, double slowdown,
    const MeasuredSensitivities& measured) const {
  return during("calibrating", [&] {
    return pareto_plans(result_.simulated, config_, patterns_,
                        errors(data, options, slowdown, measured), slowdown);
  });
}

MixedPrecisionPlan Stages::best_plan_within(const Dataset& data,
                                            const CalibrateOptions& options,
                                            double slowdown) const {
  return during("calibrating", [&] {
    return tare::best_plan_within(result_.simulated, config_, patterns_,
                                  errors(data, options, slowdown, {}), slowdown);
  });
}

QuantizeResult Stages::finish() {
  result_.integer = during("lowering", [&] { return lower(result_.simulated, result_.table); });
  const bool was_quantized = is_quantized(result_.prepared);
  if (was_quantized) {
    result_.audit.warnings.push_back(
        {"already_quantized", "model",
         "is quantized already: its parameters stay, and " +
             (result_.simulated.regions.empty()
                  ? std::string("nothing else was quantized")
                  : std::to_string(result_.simulated.regions.size()) +
                        " more layers were quantized")});
    result_.integer =
        for_target(lower_quantized(to_qdq(result_.integer), config_, *toolkit_), target_);
  }
  check_fallback(config_, result_.integer, result_.simulated.kept_float);
  result_.qdq = export_form(result_.integer, Form::kQdq, target_);
  result_.verdicts = was_quantized ? verdicts(result_.qdq, target_)
                                   : verdicts(result_.simulated, result_.table, result_.qdq);
  audit_rescaling(config_, result_.audit.warnings);
  audit_accumulators(config_, result_.integer, result_.audit.warnings);
  audit_storage(result_.simulated, result_.table, result_.audit.warnings);
  if (auto warning = denormal_weights(result_.prepared)) {
    result_.audit.warnings.push_back(std::move(*warning));
  }
  return std::move(result_);
}

}  // namespace tare
