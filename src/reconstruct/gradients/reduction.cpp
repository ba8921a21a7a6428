// Reductions, with the axes as operand or attribute.
#include "reconstruct/gradient_rule.h"

#include <numeric>

namespace tare {
namespace {

using C = GradientContext;
using Axes = std::vector<std::int64_t>;

Axes reduced_axes(C& c) {
  Axes axes = c.has_input(1) ? c.integers(1) : c.attributes().integers("axes", Axes());
  const std::size_t rank = c.shape(c.input(0)).size();
  if (axes.empty() && c.attributes().integer("noop_with_empty_axes", 0) == 0) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  for (std::int64_t& axis : axes) {
    axis = static_cast<std::int64_t>(normalized_axis(axis, rank));
  }
  return axes;
}

/// A value of the result's shape with the reduced axes kept, so that it broadcasts.
ValueId kept(C& c, ValueId value) {
  Shape shape = c.shape(c.input(0));
  for (const std::int64_t axis : reduced_axes(c)) {
    shape[static_cast<std::size_t>(axis)] = 1;
  }
  return c.reshape(value, shape);
}

/// The gradient times a slope that may be one for all.
template <class Slope>
GradientRule reduction(std::string op, Slope slope) {
  return {{std::move(op)}, [=](C& c) {
            const ValueId product = slope(c, kept(c, c.gradient()));
            c.give(0, c.expand(product, c.shape(c.input(0))));
          }};
}

ValueId extreme_of(C& c, ValueId gradient) {
  return c.where(c.test("Equal", {c.input(0), kept(c, c.output())}), gradient);
}

}  // namespace
}  // namespace tare

TARE_GRADIENT(reduction) {
  using namespace tare;
  return {
      reduction("ReduceSum", [](C&, ValueId g) { return g; }),
      reduction("ReduceMean",
                [](C& c, ValueId g) {
                  const auto each = static_cast<float>(element_count(c.shape(c.input(0)))) /
                                    static_cast<float>(element_count(c.shape(g)));
                  return c.map("Div", {g, c.number(each)});
                }),
      reduction("ReduceMax", extreme_of),
      reduction("ReduceMin", extreme_of),
      reduction("ReduceProd",
                [](C& c, ValueId g) {
                  return c.map("Div", {times(c, g, kept(c, c.output())), c.input(0)});
                }),
      reduction("ReduceL1",
                [](C& c, ValueId g) { return times(c, g, c.map("Sign", {c.input(0)})); }),
      reduction("ReduceL2",
                [](C& c, ValueId g) {
                  return times(c, c.map("Div", {g, kept(c, c.output())}), c.input(0));
                }),
      reduction("ReduceSumSquare",
                [](C& c, ValueId g) { return times(c, times(c, g, c.number(2)), c.input(0)); }),
      reduction("ReduceLogSum",
                [](C& c, ValueId g) {
                  return c.map("Div", {g, c.map("Exp", {kept(c, c.output())})});
                }),
      reduction("ReduceLogSumExp",
                [](C& c, ValueId g) {
                  const ValueId share = c.map("Sub", {c.input(0), kept(c, c.output())});
                  return times(c, g, c.map("Exp", {share}));
                }),
  };
}
