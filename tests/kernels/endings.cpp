#include "kernels/endings.h"

#include "support/graphs.h"

#include <algorithm>

namespace tare::test {
namespace {

constexpr double kEpsilon = std::numeric_limits<float>::epsilon();

/// Elements that lie behind one index of the axis the parameters vary along; all without one.
std::size_t inner_count(const TensorType& type) {
  std::size_t inner = 1;
  for (std::size_t i = type.quant->axis ? static_cast<std::size_t>(*type.quant->axis) + 1 : 0;
       i < type.shape.size(); ++i) {
    inner *= static_cast<std::size_t>(type.shape[i]);
  }
  return inner;
}

}  // namespace

Ending::Ending(const Shape& result, int axis, Random& random)
    : sum_(f32(result)), steps_(one_in(4, random) ? 0 : random.integer(0, 3)) {
  if (!one_in(4, random)) {
    return;
  }
  sum_.point = "sums";
  sum_.quant = QuantParams{.storage = DType::kInt32, .scale = {}, .zero_point = {}, .axis = {}};
  const bool per_axis = random.coin();
  const auto count =
      per_axis ? static_cast<std::size_t>(result.at(static_cast<std::size_t>(axis))) : 1;
  if (per_axis) {
    sum_.quant->axis = axis;
  }
  for (std::size_t i = 0; i < count; ++i) {
    // Powers of two, so that whole numbers stay exact.
    sum_.quant->scale.push_back(std::ldexp(1.0F, static_cast<int>(random.integer(-2, 2))));
    sum_.quant->zero_point.push_back(0);
  }
}

ValueId Ending::append(Trial& trial, ValueId sums, Expected& expected) const {
  ValueId value = sum_.quant ? scale(trial, sums, expected) : sums;
  for (std::int64_t i = 0; i < steps_; ++i) {
    value =
        one_in(3, trial.random) ? add(trial, value, expected) : clip(trial, value, expected);
  }
  return value;
}

ValueId Ending::scale(Trial& trial, ValueId value, Expected& expected) const {
  const auto& factors = sum_.quant->scale;
  const std::size_t inner = inner_count(sum_);
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    const auto factor = static_cast<double>(factors[i / inner % factors.size()]);
    expected.values[i] *= factor;
    expected.bounds[i] *= factor;
  }
  return trial.add("SimulatedDequantize", {value}, f32(sum_.shape));
}

/// One rounding more, of the sum.
ValueId Ending::add(Trial& trial, ValueId value, Expected& expected) const {
  const Trial::Operand other = trial.operand(sum_.shape, false);
  const auto terms = other.values.to_double();
  for (std::size_t i = 0; i < terms.size(); ++i) {
    expected.values[i] += terms[i];
    expected.bounds[i] +=
        trial.whole ? 0 : kEpsilon * (std::abs(expected.values[i]) + expected.bounds[i]);
  }
  return trial.random.coin() ? trial.add("Add", {value, other.id}, f32(sum_.shape))
                             : trial.add("Add", {other.id, value}, f32(sum_.shape));
}

/// Clip may have its bounds the wrong way round: everything is the upper one then. Errors do
/// not grow.
ValueId Ending::clip(Trial& trial, ValueId value, Expected& expected) const {
  Random& random = trial.random;
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  const bool relu = random.coin();
  std::vector<ValueId> operands{value};
  if (!relu) {
    const auto bound = [&](double& limit) {
      const auto number = static_cast<float>(random.integer(-6, 6));
      limit = static_cast<double>(number);
      return trial.constant(Tensor::of<float>({}, {number})).id;
    };
    operands.push_back(bound(low));
    operands.push_back(bound(high));
  }
  for (double& x : expected.values) {
    x = std::min(high, std::max(low, x));
  }
  return trial.add(relu ? "Relu" : "Clip", operands, f32(sum_.shape));
}

IntegerEnding::IntegerEnding(DType sums, const Shape& result, int axis, Random& random)
    : sum_(typed(sums, result)), rounds_(random.coin()) {
  sum_.quant =
      QuantParams{.storage = sums, .scale = {1.0F}, .zero_point = {0}, .axis = std::nullopt};
  if (!rounds_) {
    return;
  }
  const auto channels =
      random.coin() ? static_cast<std::size_t>(result.at(static_cast<std::size_t>(axis))) : 1;
  if (channels > 1) {
    sum_.quant->axis = axis;
    sum_.quant->zero_point = std::vector<std::int32_t>(channels);
  }
  // Steps by which the results fill their range. Powers of two give halves to be rounded.
  const bool halves = random.coin();
  const std::int64_t exponent = random.integer(-14, 0);
  sum_.quant->scale.clear();
  for (std::size_t i = 0; i < channels; ++i) {
    const float finer = halves ? 1.0F : static_cast<float>(random.integer(1000, 2000)) / 1000.F;
    const auto shift = static_cast<int>(exponent + random.integer(-1, 1));
    sum_.quant->scale.push_back(std::ldexp(finer, shift));
  }
  const DType storage = random.coin() ? DType::kUint8 : DType::kInt8;
  QuantParams to{.storage = storage, .scale = {1.0F}, .zero_point = {0}, .axis = {}};
  to.scale.mutable_view()[0] =
      halves ? 1.0F : static_cast<float>(random.integer(100, 2000)) / 1000.F;
  to.bits = one_in(4, random) ? static_cast<int>(random.integer(2, 7)) : 0;
  const StorageRange range = to.range();
  to.zero_point.mutable_view()[0] = static_cast<std::int32_t>(
      one_in(3, random) ? range.low : random.integer(range.low, range.high));
  rounded_ = typed(storage, result);
  rounded_.quant = to;
}

/// By the formula of docs/quantization_math.md, in float32.
ValueId IntegerEnding::append(Trial& trial, ValueId sums, Expected& expected) const {
  if (!rounds_) {
    return sums;
  }
  const QuantParams& from = *sum_.quant;
  const QuantParams& to = *rounded_.quant;
  const std::size_t inner = inner_count(sum_);
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    const auto factor =
        static_cast<float>(static_cast<double>(from.scale[i / inner % from.scale.size()]) /
                           static_cast<double>(to.scale[0]));
    const float product = static_cast<float>(expected.values[i]) * factor;
    const double steps = std::nearbyint(static_cast<double>(product)) + to.zero_point[0];
    expected.values[i] = std::clamp(steps, static_cast<double>(to.range().low),
                                    static_cast<double>(to.range().high));
  }
  return trial.add("Requantize", {sums}, rounded_);
}

}  // namespace tare::test
