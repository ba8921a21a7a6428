#include "fuzz/other_layers.h"

#include "fuzz/layers.h"

#include <array>
#include <cmath>
#include <numbers>
#include <string>

namespace tare::fuzz {
namespace {

/// x * Phi(x), spelled as exporters do.
ValueId gelu(Drawing& d, ValueId x) {
  const Shapes& shapes = d.shapes_of(x);
  const auto root = static_cast<float>(std::numbers::sqrt2);
  const ValueId error = d.op("Erf", {d.op("Div", {x, d.scalar(root)}, shapes)}, shapes);
  const ValueId shifted = d.op("Add", {error, d.scalar(1)}, shapes);
  return d.op("Mul", {d.op("Mul", {x, shifted}, shapes), d.scalar(0.5F)}, shapes);
}

/// One half along the channels times a gate of the other one.
std::optional<ValueId> gated_half(Drawing& d, ValueId x) {
  const std::int64_t channels = d.shape_of(x)[1];
  if (!d.is_fixed(x, 1) || channels % 2 != 0) {
    return {};
  }
  const Shapes half = d.each(x, [&](Shape s) {
    s[1] = channels / 2;
    return s;
  });
  const std::vector<ValueId> parts =
      d.ops("Split", {x, d.integers({channels / 2, channels / 2})}, {half, half},
            {{"axis", std::int64_t{1}}});
  return d.op("Mul", {parts[0], d.op("Sigmoid", {parts[1]}, half)}, half);
}

ValueId reduced(Drawing& d, ValueId x) {
  constexpr std::array kOps{"ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2"};
  const auto last = static_cast<std::int64_t>(d.rank_of(x)) - 1;
  return d.op(kOps.at(static_cast<std::size_t>(d.choose.below(4))), {x},
              d.each(x,
                     [](Shape s) {
                       s.back() = 1;
                       return s;
                     }),
              {{"axes", Integers{last}}, {"keepdims", std::int64_t{1}}});
}

std::optional<ValueId> gathered(Drawing& d, ValueId x) {
  const std::size_t last = d.rank_of(x) - 1;
  if (!d.is_fixed(x, last)) {
    return {};
  }
  Integers places;
  for (std::int64_t i = d.choose.between(1, 4); i > 0; --i) {
    places.push_back(d.choose.below(d.shape_of(x)[last]));
  }
  const auto count = static_cast<std::int64_t>(places.size());
  return d.op("Gather", {x, d.integers(places)},
              d.each(x,
                     [&](Shape s) {
                       s.back() = count;
                       return s;
                     }),
              {{"axis", static_cast<std::int64_t>(last)}});
}

std::optional<ValueId> normalized_image(Drawing& d, ValueId x) {
  if (d.rank_of(x) != 4 || !d.is_fixed(x, 1)) {
    return {};
  }
  const Shape channels{d.shape_of(x)[1]};
  return d.op("InstanceNormalization", {x, d.constant(channels), d.constant(channels)},
              d.shapes_of(x), {{"epsilon", 0.125F}});
}

std::optional<ValueId> rearranged(Drawing& d, ValueId x) {
  if (d.rank_of(x) != 4 || !d.is_fixed(x, 1) || d.shape_of(x)[1] % 4 != 0) {
    return {};
  }
  return d.op(
      "DepthToSpace", {x},
      d.each(x,
             [](const Shape& s) {
               return Shape{s[0], s[1] / 4, 2 * s[2], 2 * s[3]};
             }),
      {{"blocksize", std::int64_t{2}}, {"mode", std::string(d.choose.coin() ? "DCR" : "CRD")}});
}

std::optional<ValueId> with_slopes(Drawing& d, ValueId x) {
  if (!d.is_fixed(x, 1)) {
    return {};
  }
  Shape slopes(d.rank_of(x) - 1, 1);
  slopes[0] = d.shape_of(x)[1];
  return d.op("PRelu", {x, d.constant(slopes)}, d.shapes_of(x));
}

}  // namespace

std::optional<ValueId> other_layer(Drawing& d, ValueId x) {
  const Shapes& shapes = d.shapes_of(x);
  switch (d.choose.below(12)) {
    case 0:
      return gelu(d, x);
    case 1:
      return d.op("Mul", {x, d.op("Sigmoid", {x}, shapes)}, shapes);
    case 2:
      return gated_half(d, x);
    case 3:
      return reduced(d, x);
    case 4:
      return gathered(d, x);
    case 5:
      return normalized_image(d, x);
    case 6:
      return rearranged(d, x);
    case 7:
      return with_slopes(d, x);
    case 8:
      return d.op("HardSwish", {x}, shapes);
    case 9:
      return d.op("HardSigmoid", {x}, shapes, {{"alpha", 1.0F / 6}, {"beta", 0.5F}});
    case 10:
      return d.op("Elu", {x}, shapes);
    default:
      return d.op("Softplus", {x}, shapes);
  }
}

}  // namespace tare::fuzz
