#include "reconstruct/gradient_rule.h"
#include "reconstruct/gradient_trial.h"

#include <algorithm>
#include <cmath>

namespace tare::test {
namespace {

/// f(x) of numbers that keep away from these.
OperatorTrials unary(std::string op, std::vector<float> kinks = {}, Attributes attributes = {},
                     float low = 0.1F, float high = 2) {
  return {op, [=](Random& random, Trial& trial) {
            const Shape shape = random_shape(random, 1, 4);
            trial.result(op, {trial.input(numbers(random, shape, low, high, kinks))}, shape,
                         attributes);
          }};
}

OperatorTrials unary_positive(std::string op, float low, float high) {
  return {op, [=](Random& random, Trial& trial) {
            const Shape shape = random_shape(random, 1, 4);
            trial.result(op, {trial.input(positive(random, shape, low, high))}, shape);
          }};
}

OperatorTrials binary(std::string op, bool positive_ones = false) {
  return {op, [=](Random& random, Trial& trial) {
            const Shape full = random_shape(random, 1, 4);
            const Shape a = random.coin() ? full : narrowed(random, full);
            const Shape b = random.coin() ? full : narrowed(random, full);
            const auto make = [&](const Shape& shape) {
              return positive_ones ? positive(random, shape, 0.5F)
                                   : numbers(random, shape, 0.5F);
            };
            trial.result(op, {trial.input(make(a)), trial.input(make(b))}, broadcast(a, b));
          }};
}

/// Two operands of which elements are nowhere close.
OperatorTrials extreme(std::string op) {
  return {op, [=](Random& random, Trial& trial) {
            const Shape shape = random_shape(random, 1, 3);
            Shape both{2};
            both.insert(both.end(), shape.begin(), shape.end());
            const Tensor values = distinct(random, both);
            trial.result(op,
                         {trial.input(values.rows(0, 1).reshaped(shape)),
                          trial.input(values.rows(1, 1).reshaped(shape))},
                         shape);
          }};
}

void clip(Random& random, Trial& trial) {
  const Shape shape = random_shape(random, 1, 4);
  trial.result("Clip",
               {trial.input(numbers(random, shape, 0, 2, {-0.5F, 1})),
                trial.constant(Tensor::scalar(-0.5F)), trial.constant(Tensor::scalar(1.0F))},
               shape);
}

void prelu(Random& random, Trial& trial) {
  const Shape shape = random_shape(random, 1, 4);
  trial.result("PRelu",
               {trial.input(numbers(random, shape)),
                trial.input(numbers(random, narrowed(random, shape)))},
               shape);
}

void choice(Random& random, Trial& trial) {
  const Shape shape = random_shape(random, 1, 4);
  Tensor condition(DType::kBool, shape);
  for (bool& each : condition.mutable_view<bool>()) {
    each = random.coin();
  }
  const Shape other = narrowed(random, shape);
  const ValueId first = trial.input(std::move(condition));
  trial.result(
      "Where",
      {first, trial.input(numbers(random, shape)), trial.input(numbers(random, other))}, shape);
}

void sum_of_three(Random& random, Trial& trial, const std::string& op) {
  const Shape shape = random_shape(random, 1, 4);
  trial.result(op,
               {trial.input(numbers(random, shape)),
                trial.input(numbers(random, narrowed(random, shape))),
                trial.input(numbers(random, shape))},
               shape);
}

/// x^3 and x^p.
void power(Random& random, Trial& trial) {
  const Shape shape = random_shape(random, 1, 3);
  const ValueId x = trial.input(positive(random, shape, 0.5F));
  const ValueId p = random.coin() ? trial.constant(Tensor::scalar(3.0F))
                                  : trial.input(numbers(random, narrowed(random, shape)));
  trial.result("Pow", {x, p}, shape);
}

}  // namespace

std::vector<OperatorTrials> element_trials() {
  return {binary("Add"),
          binary("Sub"),
          binary("Mul"),
          binary("Div"),
          {"Pow", power},
          extreme("Max"),
          extreme("Min"),
          {"Sum", [](Random& r, Trial& t) { sum_of_three(r, t, "Sum"); }},
          {"Mean", [](Random& r, Trial& t) { sum_of_three(r, t, "Mean"); }},
          {"Where", choice},
          unary("Neg"),
          unary("Abs"),
          unary("Exp"),
          unary_positive("Log", 0.5F, 3),
          unary_positive("Sqrt", 0.5F, 3),
          unary_positive("Rsqrt", 0.5F, 3),
          unary_positive("Reciprocal", 0.7F, 3),
          unary("Erf"),
          unary("Sin"),
          unary("Cos"),
          unary("Tan", {}, {}, 0, 1),
          unary("Sinh"),
          unary("Cosh"),
          unary("Tanh"),
          unary("Asin", {}, {}, 0, 0.7F),
          unary("Acos", {}, {}, 0, 0.7F),
          unary("Atan"),
          unary("Asinh"),
          unary_positive("Acosh", 1.5F, 3),
          unary("Atanh", {}, {}, 0, 0.7F),
          unary("Relu"),
          {"Clip", clip},
          unary("LeakyRelu", {}, {{"alpha", 0.2F}}),
          {"PRelu", prelu},
          unary("Elu", {}, {{"alpha", 0.7F}}),
          unary("Celu", {}, {{"alpha", 0.7F}}),
          unary("Selu"),
          unary("ThresholdedRelu", {1}),
          unary("Shrink", {-0.5F, 0.5F}),
          unary("Sigmoid"),
          unary("HardSigmoid", {-2.5F, 2.5F}, {}, 0, 4),
          unary("HardSwish", {-3, 3}, {}, 0, 4),
          unary("Softplus"),
          unary("Softsign"),
          unary("Mish"),
          unary("Gelu"),
          unary("Gelu", {}, {{"approximate", std::string("tanh")}})};
}

}  // namespace tare::test
