#include "tare/calibrator.h"
#include "tare/error.h"

#include "calibrate/accumulators.h"
#include "calibrate/observe.h"
#include "calibrate/weights.h"

#include <algorithm>

namespace tare {
namespace {

std::unique_ptr<const Calibrator> make_calibrator(const CalibratorChoice& choice,
                                                  std::span<const CalibratorInfo> known) {
  const auto fault = [&](const std::string& what, const std::string& near) {
    Error error(ErrorCode::kInvalidConfig, "calibrator '" + choice.name + "'", what);
    if (!near.empty()) {
      error.hint("did you mean '" + near + "'?");
    }
    return error;
  };
  std::vector<std::string> names;
  for (const CalibratorInfo& info : known) {
    names.emplace_back(info.name);
    if (info.name != choice.name) {
      continue;
    }
    for (const auto& [option, value] : choice.options) {
      if (std::find(info.options.begin(), info.options.end(), option) == info.options.end()) {
        throw fault("has no option '" + option + "'", nearest(option, info.options));
      }
    }
    return info.make(CalibratorOptions(choice.options));
  }
  throw fault("is not known", nearest(choice.name, names));
}

PointResult choose_activation(const Summary& seen, const QuantPoint& point,
                              std::span<const CalibratorInfo> calibrators) {
  if (seen.nan() + seen.infinite() != 0) {
    throw Error(ErrorCode::kInvalidData, "value '" + point.name + "'",
                "holds " + std::to_string(seen.nan()) + " NaN and " +
                    std::to_string(seen.infinite()) +
                    " infinite values while running the samples");
  }
  PointResult result;
  result.calibrator = point.calibrator.name;
  result.elements = seen.count();
  result.seen = {{seen.low(), seen.high()}};
  result.chosen = {make_calibrator(point.calibrator, calibrators)->choose(seen, point.spec)};
  result.params = to_quant_params(result.chosen, point.spec);
  return result;
}

PointResult choose_weight(const SimulatedGraph& simulated, const QuantPoint& point,
                          std::span<const CalibratorInfo> calibrators) {
  const Tensor& values = *simulated.source.constant(point.value);
  PointResult result =
      choose_constant(values, point, *make_calibrator(point.calibrator, calibrators));
  const int limit = simulated.target.weight_pair_limit;
  if (limit > 0 && point.reader) {
    const Node& reader = simulated.source.node(*point.reader);
    if (const auto order = kernel_order(simulated.source, reader)) {
      result.widened_channels = limit_pairs(values, *order, limit, result.params);
    }
  }
  return result;
}

ValueId accumulated_input(const SimulatedGraph& simulated, const QuantPoint& point) {
  return simulated.source.node(*point.reader).inputs[0];
}

}  // namespace

double CalibratorOptions::number(const std::string& key, double fallback) const {
  const auto found = values_->find(key);
  return found == values_->end() ? fallback : found->second;
}

QuantTable calibrate(const SimulatedGraph& simulated, const Dataset& data,
                     std::span<const CalibratorInfo> calibrators,
                     const CalibrateOptions& options) {
  Watch watch;
  for (const QuantPoint& point : simulated.points) {
    // A misspelled calibrator shows before the work.
    (void)make_calibrator(point.calibrator, calibrators);
    if (point.role == Role::kActivation) {
      watch.summaries.push_back(point.value);
    } else if (point.corrects_bias) {
      watch.channel_sums.push_back(accumulated_input(simulated, point));
    }
  }
  // With every point disabled the simulated graph computes what its source computes.
  const Observation seen = observe(simulated.source, watch, data, options);
  QuantTable table;
  InputMeans means;
  for (const QuantPoint& point : simulated.points) {
    if (point.role == Role::kActivation) {
      table.emplace(point.name,
                    choose_activation(seen.summaries.at(point.value), point, calibrators));
    } else if (point.corrects_bias) {
      means.emplace(point.name,
                    seen.channel_sums.at(accumulated_input(simulated, point)).means());
    }
  }
  for (const QuantPoint& point : simulated.points) {
    if (point.role == Role::kWeight) {
      table.emplace(point.name, choose_weight(simulated, point, calibrators));
    }
  }
  derive_accumulators(simulated, means, table);
  return table;
}

}  // namespace tare
