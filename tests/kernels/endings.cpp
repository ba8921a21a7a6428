#include "kernels/endings.h"

#include "support/graphs.h"

#include <algorithm>

namespace tare::test {
namespace {

constexpr double kEpsilon = std::numeric_limits<float>::epsilon();

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
  std::size_t inner = 1;
  for (std::size_t i = sum_.quant->axis ? static_cast<std::size_t>(*sum_.quant->axis) + 1 : 0;
       i < sum_.shape.size(); ++i) {
    inner *= static_cast<std::size_t>(sum_.shape[i]);
  }
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

}  // namespace tare::test
