// Widens the weight scales of channels whose bias or sums would leave the accumulator. The
// bound is the worst case: weights above 0 meet the largest input and those below 0 the
// smallest, or the other way round, which some input really does. It is the bound that training
// for narrow accumulators keeps to by the l1 norm of the weights (Colbert, Pappalardo and
// Petri-Koenig, "A2Q: Accumulator-Aware Quantization with Guaranteed Overflow Avoidance",
// 2023); here scales are the only thing that can still be changed.
//
// A channel that does not fit first loses what GPTQ has rounded away from the nearest integers;
// then its scale grows by as much as its sums exceed the accumulator, so a few steps suffice.
// One step costs a pass over the weights of the layer. Layers whose sums would fit with any
// weights cost nothing.
#include "calibrate/rounding/widen_scales.h"

#include "tare/simulate.h"

#include "calibrate/rounding/weights.h"
#include "graph/operators/product.h"
#include "simulate/accumulated.h"
#include "simulate/quantized_constants.h"

#include <algorithm>

namespace tare {
namespace {

bool fit_biases(const SimulatedGraph& simulated, const QuantPoint& point, QuantTable& table) {
  PointResult& weight = table.at(point.weight);
  const PointResult& accumulator = table.at(point.name);
  bool widened = false;
  const auto fit = [&](const Tensor& bias) {
    const std::vector<int> channels =
        fit_bias(corrected_bias(bias, accumulator), table.at(point.input).params.scale[0],
                 simulated.find(point.weight)->spec, weight.params);
    weight.widened_channels.insert(weight.widened_channels.end(), channels.begin(),
                                   channels.end());
    if (!channels.empty()) {
      weight.rounding.clear();  // of narrower steps
      widened = true;
    }
  };
  for (const ValueId bias : point.biases) {
    const Tensor& values = *simulated.source.constant(bias);
    fit(values.reshaped({values.size()}));
  }
  if (point.biases.empty() && !accumulator.bias_correction.empty()) {
    fit(Tensor(DType::kFloat32,
               {static_cast<std::int64_t>(accumulator.bias_correction.size())}));
  }
  return widened;
}

/// How many times an accumulator's reach the sums have; above 1 they do not fit.
double excess(const SumRange& sums, const Accumulator& held) {
  return std::max(static_cast<double>(sums.low) / static_cast<double>(held.low()),
                  static_cast<double>(sums.high) / static_cast<double>(held.high()));
}

/// Gives the weights of one channel their nearest integers; false when they have them.
bool round_to_nearest(const WeightResults& results, std::size_t channel, PointResult& weight) {
  const std::size_t channels = weight.params.scale.size();
  bool changed = false;
  const std::span<std::int8_t> rounding = weight.rounding.mutable_view();
  for (std::size_t i = 0; i < rounding.size(); ++i) {
    if (rounding[i] != 0 && results.of(i) % channels == channel) {
      rounding[i] = 0;
      changed = true;
    }
  }
  if (changed) {
    weight.rounding = unless_nearest(std::move(weight.rounding));
  }
  return changed;
}

void widen(std::size_t channel, double factor, const QuantSpec& spec, PointResult& weight) {
  // Sums fall a little faster or slower than scales grow, as integers are rounded: the last
  // steps are small ones.
  constexpr double kStep = 1.005;
  weight.params.scale.mutable_view()[channel] *=
      spec.power_of_two ? 2 : static_cast<float>(std::max(kStep, factor / kStep));
  auto& widened = weight.widened_channels;
  if (std::find(widened.begin(), widened.end(), static_cast<int>(channel)) == widened.end()) {
    widened.push_back(static_cast<int>(channel));
  }
}

const Accumulator& held_in(const SimulatedGraph& simulated, const QuantPoint& point) {
  return simulated.arithmetic.of(simulated.source.node(*point.reader).name).accumulator;
}

/// Where no accumulator is stated, sums of 16-bit factors have more bits than they can fill.
bool has_wide_sums(const SimulatedGraph& simulated, const QuantPoint& point,
                   const QuantTable& table) {
  return sum_type(table.at(point.input).params.storage, table.at(point.weight).params.storage,
                  held_in(simulated, point)) == DType::kInt64;
}

/// What runs the graph takes for granted that 32 bits are enough; narrower accumulators
/// overflow on purpose. Two computed factors have no scale that could be widened without loss
/// elsewhere.
bool fit_sums(const SimulatedGraph& simulated, const QuantPoint& point, QuantTable& table) {
  const QuantPoint& factor = *simulated.find(point.weight);
  const Accumulator& held = held_in(simulated, point);
  const bool may_overflow = !simulated.avoids_overflow && held.bits < 32;
  if (may_overflow || factor.role != Role::kWeight || has_wide_sums(simulated, point, table) ||
      largest_sum(simulated, point, table) <= static_cast<double>(held.high())) {
    return false;
  }
  PointResult& weight = table.at(point.weight);
  const WeightResults results(simulated.source.node(*point.reader),
                              simulated.source.type(factor.value).shape);
  for (bool changed = false;; changed = true) {
    std::vector<double> excesses(weight.params.scale.size());
    const std::vector<SumRange> sums = worst_case_accumulators(simulated, point, table);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      double& most = excesses[i % excesses.size()];
      most = std::max(most, excess(sums[i], held));
    }
    if (*std::max_element(excesses.begin(), excesses.end()) <= 1) {
      return changed;
    }
    for (std::size_t channel = 0; channel < excesses.size(); ++channel) {
      if (excesses[channel] > 1 && !round_to_nearest(results, channel, weight)) {
        widen(channel, excesses[channel], factor.spec, weight);
      }
    }
  }
}

}  // namespace

bool widen_scales_to_fit(const SimulatedGraph& simulated, const QuantPoint& accumulator,
                         QuantTable& table) {
  const bool for_biases = fit_biases(simulated, accumulator, table);
  return fit_sums(simulated, accumulator, table) || for_biases;
}

}  // namespace tare
