// Normalizations. With x' = (x - mean) / deviation over some axes and g the gradient of x', the
// gradient of x is (g - mean(g) - x' mean(g x')) / deviation (Ioffe and Szegedy, "Batch
// Normalization", 2015, section 3).
#include "reconstruct/gradient_rule.h"

#include <numeric>

namespace tare {
namespace {

using C = GradientContext;
using Axes = std::vector<std::int64_t>;

Axes axes_from(std::int64_t first, std::size_t rank) {
  Axes axes(rank - static_cast<std::size_t>(first));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

struct Normalized {
  ValueId values;  ///< (x - mean) / deviation
  ValueId factor;  ///< 1 / deviation
};

Normalized normalize(C& c, ValueId x, const Axes& axes, float epsilon) {
  const ValueId centred = c.map("Sub", {x, c.mean(x, axes)});
  const ValueId variance = c.mean(c.map("Mul", {centred, centred}), axes);
  const ValueId factor =
      c.map("Reciprocal", {c.map("Sqrt", {c.map("Add", {variance, c.number(epsilon)})})});
  return {c.map("Mul", {centred, factor}), factor};
}

/// What becomes of the gradient of normalized values.
ValueId through(C& c, const Normalized& normalized, ValueId gradient, const Axes& axes) {
  const ValueId along = c.mean(c.map("Mul", {gradient, normalized.values}), axes);
  const ValueId rest = c.map("Sub", {c.map("Sub", {gradient, c.mean(gradient, axes)}),
                                     c.map("Mul", {normalized.values, along})});
  return c.map("Mul", {rest, normalized.factor});
}

/// One value for each channel, as it broadcasts over x.
ValueId per_channel(C& c, ValueId row, std::size_t rank) {
  Shape shape(rank, 1);
  shape[1] = c.shape(row)[0];
  return c.reshape(row, shape);
}

/// Sums over all but the channels.
ValueId sum_to_channels(C& c, ValueId value) {
  Shape shape(c.shape(value).size(), 1);
  shape[1] = c.shape(value)[1];
  return c.reshape(c.sum_to(value, shape), {shape[1]});
}

void layer_normalization(C& c) {
  const ValueId x = c.input(0);
  const std::size_t rank = c.shape(x).size();
  const auto first =
      static_cast<std::int64_t>(normalized_axis(c.attributes().integer("axis", -1), rank));
  const Axes axes = axes_from(first, rank);
  const Normalized normalized = normalize(c, x, axes, c.attributes().real("epsilon", 1e-5F));
  if (c.wants(0)) {
    c.give(0, through(c, normalized, c.map("Mul", {c.gradient(), c.input(1)}), axes));
  }
  if (c.wants(1)) {
    c.give(1, c.sum_to(c.map("Mul", {c.gradient(), normalized.values}), c.shape(c.input(1))));
  }
  if (c.wants(2)) {
    c.give(2, c.sum_to(c.gradient(), c.shape(c.input(2))));
  }
}

void instance_normalization(C& c) {
  const ValueId x = c.input(0);
  const std::size_t rank = c.shape(x).size();
  const Axes axes = axes_from(2, rank);
  const Normalized normalized = normalize(c, x, axes, c.attributes().real("epsilon", 1e-5F));
  if (c.wants(0)) {
    const ValueId scale = per_channel(c, c.input(1), rank);
    c.give(0, through(c, normalized, c.map("Mul", {c.gradient(), scale}), axes));
  }
  if (c.wants(1)) {
    c.give(1, sum_to_channels(c, c.map("Mul", {c.gradient(), normalized.values})));
  }
  if (c.wants(2)) {
    c.give(2, sum_to_channels(c, c.gradient()));
  }
}

/// As inference does it, with a mean and a variance that are operands.
void batch_normalization(C& c) {
  const ValueId x = c.input(0);
  const std::size_t rank = c.shape(x).size();
  const ValueId variance =
      c.map("Add", {c.input(4), c.number(c.attributes().real("epsilon", 1e-5F))});
  const ValueId factor = per_channel(c, c.map("Reciprocal", {c.map("Sqrt", {variance})}), rank);
  if (c.wants(0)) {
    const ValueId scale = c.map("Mul", {per_channel(c, c.input(1), rank), factor});
    c.give(0, c.map("Mul", {c.gradient(), scale}));
  }
  if (c.wants(1)) {
    const ValueId centred = c.map("Sub", {x, per_channel(c, c.input(3), rank)});
    c.give(1,
           sum_to_channels(c, c.map("Mul", {c.gradient(), c.map("Mul", {centred, factor})})));
  }
  if (c.wants(2)) {
    c.give(2, sum_to_channels(c, c.gradient()));
  }
}

void mean_variance_normalization(C& c) {
  Axes axes = c.attributes().integers("axes", {0, 2, 3});
  for (std::int64_t& axis : axes) {
    axis = static_cast<std::int64_t>(normalized_axis(axis, c.shape(c.input(0)).size()));
  }
  c.give(0, through(c, normalize(c, c.input(0), axes, 1e-9F), c.gradient(), axes));
}

/// y = x / n with the norm n = sum |x|, or the root of sum x^2.
void lp_normalization(C& c) {
  const ValueId x = c.input(0);
  const Axes axes{static_cast<std::int64_t>(
      normalized_axis(c.attributes().integer("axis", -1), c.shape(x).size()))};
  const bool squares = c.attributes().integer("p", 2) == 2;
  const ValueId norm = c.add(squares ? "ReduceL2" : "ReduceL1", {x}, c.shape(c.sum(x, axes)),
                             {{"axes", axes}, {"keepdims", 1L}});
  const ValueId direction = squares ? c.output() : c.map("Sign", {x});
  const ValueId along = c.sum(c.map("Mul", {c.gradient(), c.output()}), axes);
  const ValueId rest = c.map("Sub", {c.gradient(), c.map("Mul", {direction, along})});
  c.give(0, c.map("Div", {rest, norm}));
}

}  // namespace
}  // namespace tare

TARE_GRADIENT(normalization) {
  using namespace tare;
  return {{{"LayerNormalization"}, layer_normalization},
          {{"InstanceNormalization"}, instance_normalization},
          {{"BatchNormalization"}, batch_normalization},
          {{"MeanVarianceNormalization"}, mean_variance_normalization},
          {{"LpNormalization"}, lp_normalization}};
}
