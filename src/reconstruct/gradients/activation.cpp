// Activation functions. Those with a kink have the derivative of one of its sides there.
#include "reconstruct/gradient_rule.h"

namespace tare {
namespace {

using C = GradientContext;

ValueId at_least(C& c, ValueId x, float least) {
  return c.test("Greater", {x, c.number(least)});
}

void relu(C& c) {
  c.give(0, c.where(at_least(c, c.output(), 0), c.gradient()));
}

/// Bounds that are absent bound nothing.
void clip(C& c) {
  ValueId inside = c.gradient();
  if (c.has_input(1)) {
    inside = c.where(c.test("Greater", {c.input(0), c.input(1)}), inside);
  }
  if (c.has_input(2)) {
    inside = c.where(c.test("Less", {c.input(0), c.input(2)}), inside);
  }
  if (c.wants(0)) {
    c.give(0, inside);
  }
}

/// The gradient above 0, and times `below` elsewhere.
void bent(C& c, ValueId below) {
  const ValueId low = times(c, c.gradient(), below);
  c.give(0,
         c.add("Where", {at_least(c, c.input(0), 0), c.gradient(), low}, c.shape(c.input(0))));
}

void leaky_relu(C& c) {
  bent(c, c.number(c.attributes().real("alpha", 0.01F)));
}

void prelu(C& c) {
  if (c.wants(0)) {
    bent(c, c.input(1));
  }
  if (c.wants(1)) {
    const ValueId low = c.map("Min", {c.input(0), c.number(0)});
    c.give(1, c.sum_to(times(c, c.gradient(), low), c.shape(c.input(1))));
  }
}

/// y = alpha (e^x - 1) below 0, whose slope is y + alpha.
void elu(C& c) {
  bent(c, plus(c, c.output(), c.number(c.attributes().real("alpha", 1))));
}

/// y = alpha (e^(x / alpha) - 1) below 0, whose slope is y / alpha + 1.
void celu(C& c) {
  const ValueId share = times(c, c.output(), c.number(1 / c.attributes().real("alpha", 1)));
  bent(c, plus(c, share, c.number(1)));
}

void selu(C& c) {
  const float alpha = c.attributes().real("alpha", 1.67326319217681884765625F);
  const float gamma = c.attributes().real("gamma", 1.05070102214813232421875F);
  const ValueId below = plus(c, c.output(), c.number(alpha * gamma));
  const ValueId slope =
      c.add("Where", {at_least(c, c.input(0), 0), c.number(gamma), below}, c.shape(c.input(0)));
  c.give(0, times(c, c.gradient(), slope));
}

void thresholded_relu(C& c) {
  c.give(0, c.where(at_least(c, c.input(0), c.attributes().real("alpha", 1)), c.gradient()));
}

void shrink(C& c) {
  const float bound = c.attributes().real("lambd", 0.5F);
  c.give(0, c.where(at_least(c, c.map("Abs", {c.input(0)}), bound), c.gradient()));
}

/// s (1 - s)
ValueId logistic_slope(C& c, ValueId s) {
  return times(c, s, c.map("Sub", {c.number(1), s}));
}

void sigmoid(C& c) {
  c.give(0, times(c, c.gradient(), logistic_slope(c, c.output())));
}

/// Of max(0, min(1, y)), where y lies between.
ValueId within_unit(C& c, ValueId y, ValueId value) {
  return c.where(c.test("Greater", {c.number(1), y}), c.where(at_least(c, y, 0), value));
}

void hard_sigmoid(C& c) {
  const ValueId slope = c.number(c.attributes().real("alpha", 0.2F));
  c.give(0, within_unit(c, c.output(), times(c, c.gradient(), slope)));
}

/// y = x g with the gate g = max(0, min(1, x / 6 + 1 / 2)).
void hard_swish(C& c) {
  const ValueId x = c.input(0);
  const ValueId line = plus(c, times(c, x, c.number(1.0F / 6)), c.number(0.5F));
  const ValueId raised = c.map("Max", {line, c.number(0)});
  const ValueId gate = c.map("Min", {raised, c.number(1)});
  const ValueId through_gate = within_unit(c, line, times(c, x, c.number(1.0F / 6)));
  c.give(0, times(c, c.gradient(), plus(c, gate, through_gate)));
}

void softplus(C& c) {
  c.give(0, times(c, c.gradient(), c.map("Sigmoid", {c.input(0)})));
}

void softsign(C& c) {
  const ValueId below = plus(c, c.map("Abs", {c.input(0)}), c.number(1));
  c.give(0, c.map("Div", {c.gradient(), times(c, below, below)}));
}

/// y = x tanh(softplus(x))
void mish(C& c) {
  const ValueId x = c.input(0);
  const ValueId t = c.map("Tanh", {c.map("Softplus", {x})});
  const ValueId slope = c.map("Sub", {c.number(1), times(c, t, t)});
  const ValueId inner = times(c, times(c, x, slope), c.map("Sigmoid", {x}));
  c.give(0, times(c, c.gradient(), plus(c, t, inner)));
}

/// y = x P(x), P the normal distribution, whose slope is P(x) + x p(x).
ValueId gelu_slope(C& c) {
  constexpr float kRootHalf = 0.70710678118654752440F;
  constexpr float kInverseRootTwoPi = 0.39894228040143267794F;
  const ValueId x = c.input(0);
  const ValueId erf = c.map("Erf", {times(c, x, c.number(kRootHalf))});
  const ValueId share = plus(c, times(c, erf, c.number(0.5F)), c.number(0.5F));
  const ValueId bell = c.map("Exp", {times(c, times(c, x, x), c.number(-0.5F))});
  return plus(c, share, times(c, times(c, x, bell), c.number(kInverseRootTwoPi)));
}

/// y = x (1 + tanh u) / 2 with u = a x + b x^3.
ValueId gelu_by_tanh_slope(C& c) {
  constexpr float kA = 0.79788456080286535588F;  // sqrt(2 / pi)
  constexpr float kB = kA * 0.044715F;
  const ValueId x = c.input(0);
  const ValueId square = times(c, x, x);
  const ValueId u = times(c, x, plus(c, times(c, square, c.number(kB)), c.number(kA)));
  const ValueId t = c.map("Tanh", {u});
  const ValueId share = plus(c, times(c, t, c.number(0.5F)), c.number(0.5F));
  const ValueId u_slope = plus(c, times(c, square, c.number(3 * kB)), c.number(kA));
  const ValueId t_slope = c.map("Sub", {c.number(1), times(c, t, t)});
  const ValueId inner = times(c, times(c, x, t_slope), times(c, u_slope, c.number(0.5F)));
  return plus(c, share, inner);
}

void gelu(C& c) {
  const bool by_tanh = c.attributes().text("approximate", "none") == "tanh";
  c.give(0, times(c, c.gradient(), by_tanh ? gelu_by_tanh_slope(c) : gelu_slope(c)));
}

}  // namespace
}  // namespace tare

TARE_GRADIENT(activation) {
  using namespace tare;
  return {
      {{"Relu"}, relu},
      {{"Clip"}, clip},
      {{"LeakyRelu"}, leaky_relu},
      {{"PRelu"}, prelu},
      {{"Elu"}, elu},
      {{"Celu"}, celu},
      {{"Selu"}, selu},
      {{"ThresholdedRelu"}, thresholded_relu},
      {{"Shrink"}, shrink},
      {{"Sigmoid"}, sigmoid},
      {{"HardSigmoid"}, hard_sigmoid},
      {{"HardSwish"}, hard_swish},
      {{"Softplus"}, softplus},
      {{"Softsign"}, softsign},
      {{"Mish"}, mish},
      {{"Gelu"}, gelu},
  };
}
