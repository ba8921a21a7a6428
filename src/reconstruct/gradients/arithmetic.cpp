// Elementwise operators of one and more operands. Operands broadcast, so a gradient is summed
// over whatever its operand was repeated along.
#include "reconstruct/gradient_rule.h"

namespace tare {
namespace {

void add_or_sum(GradientContext& c) {
  for (std::size_t i = 0; i < c.node().inputs.size(); ++i) {
    if (c.wants(i)) {
      c.give(i, c.sum_to(c.gradient(), c.shape(c.input(i))));
    }
  }
}

void subtract(GradientContext& c) {
  if (c.wants(0)) {
    c.give(0, c.sum_to(c.gradient(), c.shape(c.input(0))));
  }
  if (c.wants(1)) {
    c.give(1, c.sum_to(c.map("Neg", {c.gradient()}), c.shape(c.input(1))));
  }
}

void multiply(GradientContext& c) {
  for (const std::size_t i : {0U, 1U}) {
    if (c.wants(i)) {
      c.give(i, c.sum_to(c.map("Mul", {c.gradient(), c.input(1 - i)}), c.shape(c.input(i))));
    }
  }
}

void divide(GradientContext& c) {
  const ValueId share = c.map("Div", {c.gradient(), c.input(1)});
  if (c.wants(0)) {
    c.give(0, c.sum_to(share, c.shape(c.input(0))));
  }
  if (c.wants(1)) {
    const ValueId product = c.map("Mul", {share, c.output()});
    c.give(1, c.sum_to(c.map("Neg", {product}), c.shape(c.input(1))));
  }
}

void power(GradientContext& c) {
  const ValueId base = c.input(0);
  if (c.wants(0)) {
    ValueId exponent = c.input(1);
    if (c.dtype(exponent) != DType::kFloat32) {
      exponent = c.add("Cast", {exponent}, c.shape(exponent), {{"to", 1L}});
    }
    const ValueId less = c.map("Sub", {exponent, c.number(1)});
    const ValueId slope = c.map("Mul", {exponent, c.map("Pow", {base, less})});
    c.give(0, c.sum_to(c.map("Mul", {c.gradient(), slope}), c.shape(base)));
  }
  if (c.wants(1)) {
    const ValueId slope = c.map("Mul", {c.output(), c.map("Log", {base})});
    c.give(1, c.sum_to(c.map("Mul", {c.gradient(), slope}), c.shape(c.input(1))));
  }
}

/// Where an operand is what the result is; equal ones all count.
void extreme(GradientContext& c) {
  for (std::size_t i = 0; i < c.node().inputs.size(); ++i) {
    if (c.wants(i)) {
      const ValueId own = c.where(c.test("Equal", {c.input(i), c.output()}), c.gradient());
      c.give(i, c.sum_to(own, c.shape(c.input(i))));
    }
  }
}

void average(GradientContext& c) {
  const auto count = static_cast<float>(c.node().inputs.size());
  const ValueId share = c.map("Div", {c.gradient(), c.number(count)});
  for (std::size_t i = 0; i < c.node().inputs.size(); ++i) {
    if (c.wants(i)) {
      c.give(i, c.sum_to(share, c.shape(c.input(i))));
    }
  }
}

void choose(GradientContext& c) {
  const ValueId condition = c.input(0);
  if (c.wants(1)) {
    c.give(1, c.sum_to(c.where(condition, c.gradient()), c.shape(c.input(1))));
  }
  if (c.wants(2)) {
    const ValueId rest = c.add("Where", {condition, c.number(0), c.gradient()},
                               broadcast(c.shape(condition), c.shape(c.gradient())));
    c.give(2, c.sum_to(rest, c.shape(c.input(2))));
  }
}

/// f'(x) as a value.
template <class Slope>
GradientRule of_one(std::string op, Slope slope) {
  return {{std::move(op)}, [=](GradientContext& c) {
            c.give(0, c.map("Mul", {c.gradient(), slope(c)}));
          }};
}

ValueId square(GradientContext& c, ValueId x) {
  return c.map("Mul", {x, x});
}

/// a x^2 + b
ValueId squared(GradientContext& c, ValueId x, float a, float b) {
  return c.map("Add", {c.map("Mul", {square(c, x), c.number(a)}), c.number(b)});
}

ValueId inverse_root(GradientContext& c, ValueId x) {
  return c.map("Reciprocal", {c.map("Sqrt", {x})});
}

}  // namespace
}  // namespace tare

TARE_GRADIENT(arithmetic) {
  using namespace tare;
  using C = GradientContext;
  constexpr float kTwoOverRootPi = 1.12837916709551257390F;
  return {
      {{"Add", "Sum"}, add_or_sum},
      {{"Sub"}, subtract},
      {{"Mul"}, multiply},
      {{"Div"}, divide},
      {{"Pow"}, power},
      {{"Max", "Min"}, extreme},
      {{"Mean"}, average},
      {{"Where"}, choose},
      {{"Neg"}, [](C& c) { c.give(0, c.map("Neg", {c.gradient()})); }},
      of_one("Abs", [](C& c) { return c.map("Sign", {c.input(0)}); }),
      of_one("Exp", [](C& c) { return c.output(); }),
      of_one("Log", [](C& c) { return c.map("Reciprocal", {c.input(0)}); }),
      of_one("Sqrt",
             [](C& c) {
               return c.map("Div", {c.number(0.5F), c.output()});
             }),
      of_one("Rsqrt",
             [](C& c) {
               const ValueId y = c.output();
               return c.map("Mul", {c.map("Mul", {square(c, y), y}), c.number(-0.5F)});
             }),
      of_one("Reciprocal", [](C& c) { return c.map("Neg", {square(c, c.output())}); }),
      of_one("Erf",
             [](C& c) {
               const ValueId bell = c.map("Exp", {squared(c, c.input(0), -1, 0)});
               return c.map("Mul", {bell, c.number(kTwoOverRootPi)});
             }),
      of_one("Sin", [](C& c) { return c.map("Cos", {c.input(0)}); }),
      of_one("Cos", [](C& c) { return c.map("Neg", {c.map("Sin", {c.input(0)})}); }),
      of_one("Tan", [](C& c) { return squared(c, c.output(), 1, 1); }),
      of_one("Sinh", [](C& c) { return c.map("Cosh", {c.input(0)}); }),
      of_one("Cosh", [](C& c) { return c.map("Sinh", {c.input(0)}); }),
      of_one("Tanh", [](C& c) { return squared(c, c.output(), -1, 1); }),
      of_one("Asin", [](C& c) { return inverse_root(c, squared(c, c.input(0), -1, 1)); }),
      of_one(
          "Acos",
          [](C& c) { return c.map("Neg", {inverse_root(c, squared(c, c.input(0), -1, 1))}); }),
      of_one("Atan", [](C& c) { return c.map("Reciprocal", {squared(c, c.input(0), 1, 1)}); }),
      of_one("Asinh", [](C& c) { return inverse_root(c, squared(c, c.input(0), 1, 1)); }),
      of_one("Acosh", [](C& c) { return inverse_root(c, squared(c, c.input(0), 1, -1)); }),
      of_one("Atanh",
             [](C& c) { return c.map("Reciprocal", {squared(c, c.input(0), -1, 1)}); }),
  };
}
