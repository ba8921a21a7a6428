// The independent schedule, second half: every point's range is chosen from statistics alone,
// as TensorRT, ONNX Runtime and others do. Each range is right for float inputs, and none knows
// the error of the points before it. Choosing costs no runs of the network, so other
// calibrators can be tried on stored statistics; with calibrators that try several, see
// select_calibrators.h.
#include "calibrate/selection/choose.h"

#include "tare/error.h"
#include "tare/simulate.h"
#include "tare/statistics.h"

#include "base/parallel.h"
#include "calibrate/audit/audit.h"
#include "calibrate/calibrate.h"
#include "calibrate/rounding/accumulators.h"
#include "calibrate/rounding/weights.h"
#include "calibrate/selection/error_behind.h"
#include "calibrate/selection/masked_scores.h"
#include "calibrate/selection/select_calibrators.h"
#include "calibrate/selection/unify.h"
#include "calibrate/statistics/collect.h"
#include "calibrate/statistics/model_digest.h"
#include "graph/arithmetic/power_of_two.h"
#include "graph/operators/scores.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <variant>

namespace tare {
namespace {

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : " or ") + name;
  }
  return text;
}

/// The calibrator of that name. Throws Error(kInvalidConfig) when there is none, or it has no
/// such options.
const CalibratorInfo& find_calibrator(const CalibratorChoice& choice,
                                      std::span<const CalibratorInfo> known) {
  const std::string where = "calibrator '" + choice.name + "'";
  std::vector<std::string> names;
  for (const CalibratorInfo& info : known) {
    names.emplace_back(info.name);
    if (info.name != choice.name) {
      continue;
    }
    Faults faults;
    for (const auto& [option, value] : choice.options) {
      if (std::find(info.options.begin(), info.options.end(), option) == info.options.end()) {
        const std::string near = nearest(option, info.options);
        faults.add(where, "has no option '" + option + "'",
                   !near.empty()          ? near
                   : info.options.empty() ? "none"
                                          : listed(info.options));
      }
    }
    faults.raise(ErrorCode::kInvalidConfig);
    return info;
  }
  throw Error(ErrorCode::kInvalidConfig, where, "is not known")
      .expected(nearest(choice.name, names));
}

}  // namespace

std::vector<CalibratorChoice> candidates(const CalibratorChoice& choice,
                                         std::span<const CalibratorInfo> known) {
  const CalibratorInfo& info = find_calibrator(choice, known);
  return info.candidates.empty() ? std::vector{choice} : info.candidates;
}

namespace {

/// Where nothing can be tried, the first one.
std::unique_ptr<const Calibrator> make_calibrator(const CalibratorChoice& choice,
                                                  std::span<const CalibratorInfo> known) {
  const CalibratorChoice first = candidates(choice, known).front();
  return find_calibrator(first, known).make(CalibratorOptions(first.options));
}

}  // namespace

void check_calibrators(const Config& config, std::span<const CalibratorInfo> known) {
  Faults faults;
  const auto check = [&](const std::string& where, const CalibratorChoice& choice) {
    try {
      static_cast<void>(make_calibrator(choice, known));
    } catch (const Error& error) {
      for (const Fault& fault : error.faults()) {
        faults.add(where + ": " + fault.where, fault.what, fault.expected);
      }
    }
  };
  check("activations", config.activations.calibrator);
  if (config.weights.calibrator != Config().weights.calibrator) {
    check("weights", config.weights.calibrator);
  }
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    const LayerRule& rule = config.layers[i];
    for (const ValueOverride* values : {&rule.activations, &rule.inputs, &rule.weights}) {
      if (values->calibrator) {
        check(rule_name(config, i), *values->calibrator);
      }
    }
  }
  faults.raise(ErrorCode::kInvalidConfig);
}

std::unique_ptr<Observer> make_observer(const QuantPoint& point,
                                        std::span<const CalibratorInfo> calibrators) {
  return make_calibrator(point.calibrator, calibrators)->observer();
}

namespace {

bool needs_histogram(const QuantPoint& point, std::span<const CalibratorInfo> calibrators) {
  return !find_calibrator(point.calibrator, calibrators).takes_extremes;
}

}  // namespace

Observed start_observing(const QuantPoint* point, std::span<const CalibratorInfo> calibrators,
                         const Communicator* team) {
  Observed result;
  if (team == nullptr && (point == nullptr || !needs_histogram(*point, calibrators))) {
    result.values = TensorStatistics::without_histogram();
  }
  if (point != nullptr) {
    result.observer = make_observer(*point, calibrators);
  }
  return result;
}

namespace {

/// Parameters that the calibrator chose itself.
void take_parameters(const ScaleAndZeroPoint& chosen, const QuantPoint& point,
                     PointResult& result) {
  const QuantSpec& spec = point.spec;
  QuantParams params = to_quant_params({Range{}}, spec);
  const StorageRange range = params.range();
  const std::string fault =
      !std::isfinite(chosen.scale) || chosen.scale <= 0 ? "a scale that is finite and above 0"
      : chosen.zero_point < range.low || chosen.zero_point > range.high
          ? "a zero point within [" + std::to_string(range.low) + "," +
                std::to_string(range.high) + "]"
      : spec.symmetric && chosen.zero_point != params.zero_point[0]
          ? "the zero point " + std::to_string(params.zero_point[0]) + ", as it is symmetric"
      : spec.power_of_two && !is_power_of_two(static_cast<double>(chosen.scale))
          ? "a scale that is a power of two"
          : "";
  if (!fault.empty()) {
    std::ostringstream text;
    text << "gives '" << point.name << "' the scale " << chosen.scale << " and the zero point "
         << chosen.zero_point;
    throw Error(ErrorCode::kInvalidConfig, "calibrator '" + result.calibrator + "'", text.str())
        .expected(fault);
  }
  params.scale = {chosen.scale};
  params.zero_point = {chosen.zero_point};
  const auto scale = static_cast<double>(chosen.scale);
  result.calibrated = {{static_cast<double>(range.low - chosen.zero_point) * scale,
                        static_cast<double>(range.high - chosen.zero_point) * scale}};
  result.params = params;
  result.is_exact = true;
}

/// Whether it leaves it to us where a mask is cut off.
bool may_mask(const CalibratorInfo& calibrator) {
  return !calibrator.given && !calibrator.keeps_all;
}

}  // namespace

std::vector<PointResult> choose_activation(const SimulatedGraph& simulated,
                                           const TensorStatistics& observed,
                                           const Observer* observer, const QuantPoint& point,
                                           std::span<const CalibratorInfo> calibrators,
                                           const AboutValues& known) {
  if (observed.nan() + observed.infinite() != 0) {
    throw Error(ErrorCode::kInvalidData, "value '" + point.name + "'",
                "holds " + std::to_string(observed.nan()) + " NaN and " +
                    std::to_string(observed.infinite()) +
                    " infinite values while running the samples")
        .hint(
            "'tare run' shows whether the float model computes them; if not, 'keep_float' what "
            "its operands come from");
  }
  CalibrationPoint about = calibration_point(simulated, point);
  if (auto error = error_behind(simulated.source, point.value, observed, known.visible)) {
    about.error_behind = std::move(error->sum_of_squares);
  }
  std::vector<PointResult> results;
  for (const CalibratorChoice& choice : candidates(point.calibrator, calibrators)) {
    PointResult& result = results.emplace_back();
    result.calibrator = choice.name;
    result.elements = observed.count();
    result.observed = {{observed.low(), observed.high()}};
    const auto calibrator = make_calibrator(choice, calibrators);
    if (observer == nullptr && calibrator->observer() != nullptr) {
      throw Error(ErrorCode::kInvalidConfig, "calibrator '" + choice.name + "'",
                  "looks at the values themselves")
          .expected("samples in place of statistics, and to be asked for by its own name");
    }
    const CalibratorAnswer answer = observer != nullptr
                                        ? observer->answer(observed, point.spec, about)
                                        : calibrator->answer(observed, point.spec, about);
    if (const auto* params = std::get_if<ScaleAndZeroPoint>(&answer)) {
      take_parameters(*params, point, result);
      result.clipped = clipped_shares(observed, result.calibrated[0], point.spec);
      continue;
    }
    result.calibrated = {std::get<Range>(answer)};
    require_range(result.calibrated[0], choice.name, point.name);
    if (known.lowest_score && *known.lowest_score > observed.low() &&
        *known.lowest_score < observed.high() &&
        may_mask(find_calibrator(choice, calibrators))) {
      result.calibrated[0] = {*known.lowest_score, observed.high()};
    }
    result.clipped = clipped_shares(observed, result.calibrated[0], point.spec);
    result.params = to_quant_params(result.calibrated, point.spec);
  }
  return results;
}

void avoid_rounding_ties(const QuantSpec& spec, std::span<const CalibratorInfo> calibrators,
                         PointResult& result) {
  // A sixteenth of an 8-bit step. On a detector with a hundred SiLU blocks engines agreed to
  // 18.8 dB without it and to 23.1 dB with it
  // (docs/decisions/0011-ranges-avoid-rounding-ties.md).
  constexpr double kWider = 1 + 0x1p-12;
  if (result.is_exact || spec.power_of_two ||
      find_calibrator({result.calibrator, {}}, calibrators).given) {
    return;
  }
  for (Range& range : result.calibrated) {
    range = {range.low * kWider, range.high * kWider};
  }
  result.params = to_quant_params(result.calibrated, spec);
}

namespace {

PointResult choose_weight(const SimulatedGraph& simulated, const QuantPoint& point,
                          std::span<const CalibratorInfo> calibrators) {
  const Tensor& values = *simulated.source.constant(point.value);
  PointResult result =
      choose_constant(simulated, values, point, *make_calibrator(point.calibrator, calibrators),
                      needs_histogram(point, calibrators));
  const bool adds_integers = point.reader && point.spec.block == 0;
  const int limit = adds_integers ? pair_limit(simulated, *point.reader) : 0;
  if (limit > 0) {
    const Node& reader = simulated.source.node(*point.reader);
    if (const auto order = kernel_order(simulated.source, reader)) {
      result.widened_channels = limit_pairs(values, *order, limit, point.spec, result.params);
    }
  }
  return result;
}

}  // namespace

void choose_weights(const SimulatedGraph& simulated,
                    std::span<const CalibratorInfo> calibrators, int threads,
                    QuantTable& table) {
  std::vector<std::pair<const QuantPoint*, PointResult*>> weights;
  for (const QuantPoint& point : simulated.points) {
    if (point.role == Role::kWeight) {
      weights.emplace_back(&point, &table[point.name]);
    }
  }
  parallel_for(weights.size(), thread_count(threads), [&](std::size_t, std::size_t i) {
    const auto [point, result] = weights[i];
    *result = choose_weight(simulated, *point, calibrators);
  });
}

void require_calibrators(const SimulatedGraph& simulated,
                         std::span<const CalibratorInfo> calibrators) {
  for (const QuantPoint& point : simulated.points) {
    (void)make_calibrator(point.calibrator, calibrators);
  }
}

namespace {

const std::string& accumulated_input(const SimulatedGraph& simulated, const QuantPoint& point) {
  return simulated.source.name(simulated.source.node(*point.reader).inputs[0]);
}

void require_values(const SimulatedGraph& simulated, const Statistics& statistics) {
  Faults faults;
  const auto require = [&](const std::string& name, bool observed) {
    if (!observed) {
      faults.add("value '" + name + "'", "is not in the statistics");
    }
  };
  for (const QuantPoint& point : simulated.points) {
    if (point.role == Role::kActivation) {
      const std::string& name = simulated.source.name(point.value);
      require(name, statistics.values.contains(name));
    } else if (point.corrects_bias) {
      const std::string& name = accumulated_input(simulated, point);
      require(name, statistics.values.contains(name));
    }
  }
  faults.raise(ErrorCode::kInvalidData);
}

}  // namespace

double CalibratorOptions::number(const std::string& key, double fallback) const {
  const auto found = values_->find(key);
  return found == values_->end() ? fallback : found->second;
}

namespace {

CandidateTable make_candidate_table(const SimulatedGraph& simulated, const Collected& collected,
                                    std::span<const CalibratorInfo> calibrators,
                                    std::size_t primary, int threads, CalibrationAudit* audit) {
  const Statistics& statistics = collected.statistics;
  require_calibrators(simulated, calibrators);
  require_model(model_digest(simulated.source), statistics);
  require_values(simulated, statistics);
  if (audit != nullptr) {
    audit->samples = statistics.samples;
    audit->data = statistics.data;
  }
  CandidateTable candidate_table;
  candidate_table.primary = primary;
  choose_weights(simulated, calibrators, threads, candidate_table.table);
  std::vector<const QuantPoint*> activations;
  std::vector<const QuantPoint*> accumulators;
  for (const QuantPoint& point : simulated.points) {
    if (point.role == Role::kActivation) {
      activations.push_back(&point);
    } else if (point.role == Role::kAccumulator) {
      accumulators.push_back(&point);
    }
  }
  const auto chosen = [&](const QuantPoint& point) {
    const std::string& name = simulated.source.name(point.value);
    const auto observer = collected.observers.find(name);
    const auto visible = statistics.visible.find(name);
    return choose_activation(
        simulated, statistics.values.at(name),
        observer == collected.observers.end() ? nullptr : observer->second.get(), point,
        calibrators,
        {.lowest_score = lowest_score(simulated, point, candidate_table.table),
         .visible =
             visible == statistics.visible.end() ? TensorStatistics() : visible->second});
  };
  // Masked scores are cut off by what was chosen for points before them.
  const auto waits = [&](const QuantPoint& point) {
    return is_masked_score(simulated.source, point.value);
  };
  std::vector<std::vector<PointResult>> results(activations.size());
  parallel_for(activations.size(), thread_count(threads), [&](std::size_t, std::size_t i) {
    if (!waits(*activations[i])) {
      results[i] = chosen(*activations[i]);
    }
  });
  for (std::size_t i = 0; i < activations.size(); ++i) {
    const QuantPoint& point = *activations[i];
    if (waits(point)) {
      results[i] = chosen(point);
    }
    const auto channels = statistics.channels.find(simulated.source.name(point.value));
    candidate_table.add(point.name, std::move(results[i]));
    audit_activation(point, candidate_table.table.at(point.name), calibrators,
                     channels == statistics.channels.end() ? nullptr : &channels->second,
                     audit);
  }
  for (const QuantPoint* point : accumulators) {
    if (!point->corrects_bias) {
      continue;
    }
    const std::string& input = accumulated_input(simulated, *point);
    if (const auto of_input = statistics.channels.find(input);
        of_input != statistics.channels.end()) {  // or axis 1 has several extents
      candidate_table.means.emplace(point->name, ChannelMeans{of_input->second.means()});
    }
  }
  derive_accumulators(simulated, accumulators, candidate_table.means, candidate_table.table,
                      thread_count(threads));
  unify_activations(simulated, candidate_table.means, candidate_table.table);
  return candidate_table;
}

}  // namespace

QuantTable choose(const SimulatedGraph& simulated, const Statistics& statistics,
                  std::span<const CalibratorInfo> calibrators, CalibrationAudit* audit,
                  int threads) {
  return make_candidate_table(simulated, {statistics, {}}, calibrators, 0, threads, audit)
      .table;
}

QuantTable calibrate(const SimulatedGraph& simulated, const Dataset& data,
                     std::span<const CalibratorInfo> calibrators,
                     const CalibrateOptions& options, CalibrationAudit* audit) {
  require_calibrators(simulated, calibrators);  // before the work
  std::map<ValueId, const QuantPoint*> activations;
  for (const QuantPoint& point : simulated.points) {
    if (point.role == Role::kActivation) {
      activations.emplace(point.value, &point);
    }
  }
  const auto start = [&](ValueId value) {
    const auto point = activations.find(value);
    return start_observing(point == activations.end() ? nullptr : point->second, calibrators,
                           options.communicator);
  };
  const Collected collected =
      Collector(simulated, options.threads).run(data, options, {}, start, audit);
  return select_calibrators(
      simulated, calibrators, data, options, audit,
      [&](std::size_t primary, const CalibrateOptions& part, CalibrationAudit* own) {
        return make_candidate_table(simulated, collected, calibrators, primary, part.threads,
                                    own);
      });
}

}  // namespace tare
