// The numbers that a block is learned by, and how they move. Rates are relative to what is
// learned: of weights to the distance of two integers, of scales to themselves, of a bias to
// what one step of a weight changes at the widest input. The unit of the error is 1 for each
// weight, so that the pressure to round means the same in every network.
#include "reconstruct/learned_parameters.h"

#include "base/parallel.h"
#include "calibrate/rounding/accumulators.h"
#include "calibrate/rounding/weights.h"
#include "reconstruct/learn_block.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

namespace tare {
namespace {

constexpr std::size_t kChunk = 8192;  ///< weights that one thread updates at a time
/// To round. It grows, since the first is not enough for a weight between two integers whose
/// own error holds it there: deciding such a weight in the end would undo what others have
/// learned.
constexpr double kFirstPressure = 50;
constexpr double kLastPressure = 5000;
constexpr double kFirstBeta = 20;
constexpr double kLastBeta = 2;
constexpr float kRate = 0.02F;
constexpr float kScaleRate = 0.002F;
constexpr float kBiasRate = 0.005F;
constexpr float kRangeRate = 0.0005F;

}  // namespace

LearnedParameters::LearnedParameters(const FloatNetwork& network, const Block& block,
                                     const QuantTable& table, int threads)
    : network_(network), table_(table), threads_(threads) {
  nodes_.insert(block.nodes.begin(), block.nodes.end());
  std::set<ValueId> seen;
  std::vector<ValueId> values;
  for (const NodeId id : block.nodes) {
    for (const ValueId input : network.graph().node(id).inputs) {
      if (input && network.point_of(input) != nullptr && seen.insert(input).second) {
        values.push_back(input);
      }
    }
  }
  for (const ValueId value : values) {
    network.is_range(value) ? add_range(value) : add_weight(value);
  }
  for (const ValueId value : values) {
    if (!network.is_range(value)) {
      add_bias(value);
    }
  }
}

bool LearnedParameters::is_own(ValueId value) const {
  const auto& users = network_.graph().users(value);
  return !users.empty() && std::all_of(users.begin(), users.end(),
                                       [&](NodeId user) { return nodes_.contains(user); });
}

void LearnedParameters::add_weight(ValueId constant) {
  const QuantPoint& point = *network_.point_of(constant);
  if (point.role != Role::kWeight || !is_own(constant) || !is_enabled(table_, point.name)) {
    return;
  }
  weight_values_.push_back(constant);
  const PointResult& start = table_.at(point.name);
  Weight weight{AdaptiveRounding(*network_.graph().constant(constant), start), {}};
  const SimulatedGraph& simulated = network_.simulated();
  const int limit = pair_limit(simulated, *point.reader);
  const auto order = kernel_order(simulated.source, simulated.source.node(*point.reader));
  if (limit > 0 && order && start.params.storage == DType::kInt8 &&
      start.params.zero_point[0] == 0 && start.params.block == 0) {
    weight.limit = limit;
    weight.pairs = kernel_pairs(*network_.graph().constant(constant), *order);
  }
  weight_count_ += weight.rounding.size();
  weights_.push_back(std::move(weight));
}

void LearnedParameters::add_bias(ValueId constant) {
  const QuantPoint& point = *network_.point_of(constant);
  if (point.role != Role::kAccumulator || !point.corrects_bias || !is_own(constant) ||
      !is_enabled(table_, point.name) || !is_enabled(table_, point.input) ||
      point.biases.size() != 1) {
    return;
  }
  const std::vector<float> exact = network_.graph().constant(constant)->to_float();
  const QuantParams& input = table_.at(point.input).params;
  const SharedArray<float>& scales = table_.at(point.weight).params.scale;
  const auto reach = static_cast<float>(input.range().high - input.range().low);
  std::vector<float> units(exact.size());
  for (std::size_t i = 0; i < units.size(); ++i) {
    units[i] = input.scale[0] * reach * scales[scales.size() == units.size() ? i : 0];
  }
  bias_values_.push_back(constant);
  biases_.push_back({point.name, exact, network_.constant(constant, table_).to_float(),
                     std::move(units), Adam(exact.size())});
}

void LearnedParameters::add_range(ValueId input) {
  const QuantPoint& point = *network_.point_of(input);
  if (!is_own(input) || !is_enabled(table_, point.name) || !is_free(point)) {
    return;
  }
  const Tensor parameters = network_.range(input, table_);
  range_values_.push_back(input);
  ranges_.push_back({point.name, parameters, parameters.view<float>()[0]});
}

/// Whether nobody but the samples says what the range is, and it has few steps: with 8 bits the
/// gradients of steps are noise, which these would follow.
bool LearnedParameters::is_free(const QuantPoint& point) const {
  const SimulatedGraph& simulated = network_.simulated();
  const PointResult& result = table_.at(point.name);
  if (result.is_exact || point.spec.power_of_two || !has_few_bits(point.spec) ||
      point.calibrator.name == "fixed") {
    return false;
  }
  const auto producer = simulated.source.producer(point.value);
  const auto& fixed = simulated.target.fixed_ranges;
  if (producer && std::any_of(fixed.begin(), fixed.end(), [&](const FixedRange& range) {
        return range.op == simulated.source.node(*producer).op;
      })) {
    return false;
  }
  return std::none_of(simulated.unified.begin(), simulated.unified.end(),
                      [&](const std::vector<std::string>& names) {
                        return std::find(names.begin(), names.end(), point.name) != names.end();
                      });
}

std::vector<ValueId> LearnedParameters::constants() const {
  std::vector<ValueId> result = weight_values_;
  result.insert(result.end(), bias_values_.begin(), bias_values_.end());
  return result;
}

Tensor LearnedParameters::range(ValueId input) const {
  const auto found = std::find(range_values_.begin(), range_values_.end(), input);
  return found == range_values_.end()
             ? network_.range(input, table_)
             : ranges_[static_cast<std::size_t>(found - range_values_.begin())].parameters;
}

/// f(first, end) for chunks of a weight.
template <class F>
void LearnedParameters::for_each_chunk(std::size_t size, F&& f) const {
  const std::size_t chunks = (size + kChunk - 1) / kChunk;
  parallel_for(chunks, chunks > 2 ? threads_ : 1, [&](std::size_t, std::size_t chunk) {
    f(chunk * kChunk, std::min(size, (chunk + 1) * kChunk));
  });
}

void LearnedParameters::express(Moment moment, std::span<Tensor> constants) const {
  for (std::size_t k = 0; k < weights_.size(); ++k) {
    const auto values = constants[k].mutable_view<float>();
    for_each_chunk(values.size(), [&](std::size_t first, std::size_t end) {
      weights_[k].rounding.express(first, end, moment.decided, values);
    });
  }
  for (std::size_t k = 0; k < biases_.size(); ++k) {
    const auto values = constants[weights_.size() + k].mutable_view<float>();
    std::copy(biases_[k].values.begin(), biases_[k].values.end(), values.begin());
  }
}

bool LearnedParameters::learns_scale(std::size_t weight) const {
  return !network_.point_of(weight_values_[weight])->spec.power_of_two;
}

void LearnedParameters::step(Moment moment, std::span<const Gradients> gradients,
                             float factor) {
  const auto wave = [](double x) { return (1 + std::cos(std::numbers::pi * x)) / 2; };
  const double along = std::min(1.0, moment.progress / kDecidedAt);
  const auto beta = static_cast<float>(kLastBeta + (kFirstBeta - kLastBeta) * wave(along));
  const auto pressure = static_cast<float>(
      kFirstPressure * std::pow(kLastPressure / kFirstPressure, along * along));
  const auto falling = static_cast<float>(wave(moment.progress));
  std::vector<float> total;
  const auto add_up = [&](std::size_t k, std::size_t first, std::size_t end) {
    for (const Gradients& share : gradients) {
      const auto own = share[k].view<float>();
      for (std::size_t i = first; i < end; ++i) {
        total[i] += own[i] * factor;
      }
    }
  };
  for (std::size_t k = 0; k < weights_.size(); ++k) {
    AdaptiveRounding& weight = weights_[k].rounding;
    total.assign(weight.size(), 0);
    weight.begin_step();
    for_each_chunk(weight.size(), [&](std::size_t first, std::size_t end) {
      add_up(k, first, end);
      if (!moment.decided) {
        weight.step(first, end, total, pressure, beta, kRate);
      }
    });
    if (learns_scale(k)) {
      weight.step_scales(total, moment.decided, weights_[k].limit > 0, kScaleRate * falling);
    }
  }
  for (std::size_t k = 0; k < biases_.size(); ++k) {
    Bias& bias = biases_[k];
    total.assign(bias.values.size(), 0);
    add_up(weights_.size() + k, 0, total.size());
    bias.adam.begin();
    for (std::size_t i = 0; i < total.size(); ++i) {
      bias.adam.update(i, total[i] * bias.units[i], kBiasRate * falling * bias.units[i],
                       bias.values[i]);
    }
  }
  for (std::size_t k = 0; k < ranges_.size(); ++k) {
    Step& range = ranges_[k];
    total.assign(4, 0);
    add_up(weights_.size() + biases_.size() + k, 0, 4);
    float& scale = range.parameters.mutable_view<float>()[0];
    range.adam.begin();
    range.adam.update(0, total[0] * scale, kRangeRate * falling, range.logarithm);
    scale = range.first_scale * std::exp(range.logarithm);
  }
}

QuantTable LearnedParameters::table() const {
  QuantTable result = table_;
  std::set<std::string> changed;
  for (std::size_t k = 0; k < weights_.size(); ++k) {
    const std::string& point = network_.point_of(weight_values_[k])->name;
    weights_[k].rounding.finish(weights_[k].pairs, weights_[k].limit, result.at(point));
    changed.insert(point);
  }
  for (const Bias& bias : biases_) {
    std::vector<float> correction(bias.exact.size());
    std::transform(bias.values.begin(), bias.values.end(), bias.exact.begin(),
                   correction.begin(), std::minus<>());
    result.at(bias.point).bias_correction = std::move(correction);
    changed.insert(bias.point);
  }
  for (const Step& range : ranges_) {
    result.at(range.point).params.scale.mutable_view()[0] = range.parameters.view<float>()[0];
    changed.insert(range.point);
  }
  std::vector<const QuantPoint*> accumulators;
  for (const QuantPoint& point : network_.simulated().points) {
    const bool is_changed = changed.contains(point.name) || changed.contains(point.weight) ||
                            changed.contains(point.input);
    if (point.role == Role::kAccumulator && is_changed && is_enabled(result, point.name)) {
      accumulators.push_back(&point);
    }
  }
  derive_accumulators(network_.simulated(), accumulators, {}, result, threads_);
  return result;
}

}  // namespace tare
