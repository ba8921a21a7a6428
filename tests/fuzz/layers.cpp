#include "fuzz/layers.h"

#include <array>
#include <cmath>
#include <string>

namespace tare::fuzz {
namespace {

/// Rounding the weights of products takes the cube of that.
constexpr std::int64_t kMostFactors = 300;

std::int64_t window_end(std::int64_t extent, std::int64_t pads, std::int64_t kernel,
                        std::int64_t dilation, std::int64_t stride) {
  const std::int64_t room = extent + pads - dilation * (kernel - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}

struct Window {
  Integers kernel;
  Integers strides;
  Integers dilations;
  Integers pads;
  Shapes extents;  ///< of the result; empty where the window does not fit

  Attributes attributes(bool dilated) const {
    Attributes result{{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}};
    if (dilated) {
      result.set("dilations", dilations);
    }
    return result;
  }
  Shapes result(const Shapes& operand, std::optional<std::int64_t> channels = {}) const {
    Shapes all = operand;
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = {all[i][0], channels.value_or(all[i][1]), extents[i][0], extents[i][1]};
    }
    return all;
  }
};

Window any_window(Drawing& d, ValueId x, bool dilated) {
  Window w{{}, {}, {}, Integers(4), d.always({0, 0})};
  bool fits = true;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    w.kernel.push_back(d.choose.between(1, 3));
    w.strides.push_back(d.choose.rarely(3) ? 2 : 1);
    w.dilations.push_back(dilated && d.choose.rarely(6) ? 2 : 1);
    const std::int64_t most = w.kernel[axis] - 1;  // no window of padding alone
    w.pads[axis] = d.choose.between(0, most);
    w.pads[axis + 2] = d.choose.between(0, most);
    for (std::size_t i = 0; i < d.count; ++i) {
      const std::int64_t end =
          window_end(d.shapes_of(x)[i][axis + 2], w.pads[axis] + w.pads[axis + 2],
                     w.kernel[axis], w.dilations[axis], w.strides[axis]);
      w.extents[i][axis] = end;
      fits = fits && end > 0;
    }
  }
  if (!fits) {
    w.extents.clear();
  }
  return w;
}

std::optional<ValueId> convolution(Drawing& d, ValueId x) {
  const std::int64_t channels = d.shape_of(x)[1];
  const Window w = any_window(d, x, true);
  if (w.extents.empty() || !d.is_fixed(x, 1)) {
    return {};
  }
  const std::int64_t type = d.choose.below(4);
  const std::int64_t groups = type == 0 ? channels : (type == 1 && channels % 2 == 0 ? 2 : 1);
  const std::int64_t results = groups * d.choose.between(1, groups > 2 ? 2 : 5);
  const Shape weights{results, channels / groups, w.kernel[0], w.kernel[1]};
  std::vector<ValueId> operands{x, d.constant(weights, element_count(weights) / results)};
  if (d.choose.coin()) {
    operands.push_back(d.constant({results}));
  }
  Attributes attributes = w.attributes(true);
  attributes.set("group", groups);
  return d.op("Conv", operands, w.result(d.shapes_of(x), results), attributes);
}

std::optional<ValueId> transposed_convolution(Drawing& d, ValueId x) {
  const std::int64_t results = d.choose.between(1, 4);
  const Integers kernel{d.choose.between(1, 3), d.choose.between(1, 3)};
  const Integers strides{d.choose.between(1, 2), d.choose.between(1, 2)};
  const std::int64_t channels = d.shape_of(x)[1];
  // Where it stays in float, ONNX Runtime rounds its weights if there is one channel, see
  // docs/decisions/0021-float-layers-read-rows-of-equal-scales.md.
  if (!d.is_fixed(x, 1) || (d.kind.is_tame && channels == 1)) {
    return {};
  }
  return d.op("ConvTranspose",
              {x, d.constant({channels, results, kernel[0], kernel[1]}, channels)},
              d.each(x,
                     [&](const Shape& s) {
                       return Shape{s[0], results, (s[2] - 1) * strides[0] + kernel[0],
                                    (s[3] - 1) * strides[1] + kernel[1]};
                     }),
              {{"strides", strides}});
}

std::optional<ValueId> pool(Drawing& d, ValueId x) {
  const auto producer = d.graph.producer(x);
  if (d.kind.is_tame && producer && d.graph.node(*producer).op == "Pad") {
    return {};  // ONNX Runtime makes one pool of both, which then says that its pads are too
                // wide
  }
  const Window w = any_window(d, x, false);
  if (w.extents.empty()) {
    return {};
  }
  const Shapes result = w.result(d.shapes_of(x));
  if (d.choose.coin()) {
    return d.op("MaxPool", {x}, result, w.attributes(false));
  }
  Attributes attributes = w.attributes(false);
  attributes.set("count_include_pad", d.choose.below(2));
  return d.op("AveragePool", {x}, result, attributes);
}

std::optional<ValueId> normalization(Drawing& d, ValueId x) {
  if (!d.is_fixed(x, 1)) {
    return {};
  }
  const Shape channels{d.shape_of(x)[1]};
  Tensor variance = d.numbers(channels);
  for (float& value : variance.mutable_view<float>()) {
    value = std::abs(value) + (d.kind.is_tame ? 0.25F : 0);
  }
  return d.op("BatchNormalization",
              {x, d.constant(channels), d.constant(channels), d.constant(channels),
               d.constant_of(variance)},
              d.shapes_of(x));
}

/// Operators on images.
std::optional<ValueId> spatial(Drawing& d, ValueId x) {
  switch (d.choose.below(10)) {
    case 0:
      return d.op("GlobalAveragePool", {x}, d.each(x, [](const Shape& s) {
        return Shape{s[0], s[1], 1, 1};
      }));
    case 1:
      return d.op("Flatten", {x},
                  d.each(x,
                         [](const Shape& s) {
                           return Shape{s[0], element_count(s) / s[0]};
                         }),
                  {{"axis", std::int64_t{1}}});
    case 2:
      return normalization(d, x);
    case 3:
      return transposed_convolution(d, x);
    case 4:
      return d.op("Pad", {x, d.integers({0, 0, 1, 0, 0, 0, 0, 2})},
                  d.each(x, [](const Shape& s) {
                    return Shape{s[0], s[1], s[2] + 1, s[3] + 2};
                  }));
    case 5:
      return d.op("Resize", {x, {}, d.constant_of(Tensor::of<float>({4}, {1, 1, 2, 2}))},
                  d.each(x,
                         [](const Shape& s) {
                           return Shape{s[0], s[1], 2 * s[2], 2 * s[3]};
                         }),
                  {{"mode", std::string("nearest")},
                   {"coordinate_transformation_mode", std::string("asymmetric")},
                   {"nearest_mode", std::string("floor")}});
    case 6:
      return pool(d, x);
    default:
      return convolution(d, x);
  }
}

std::optional<ValueId> product(Drawing& d, ValueId x) {
  const Shape& shape = d.shape_of(x);
  if (shape.back() > kMostFactors || !d.is_fixed(x, shape.size() - 1)) {
    return {};
  }
  const std::int64_t results = d.choose.between(1, 5);
  if (shape.size() == 2 && d.choose.coin()) {
    const bool transposed = d.choose.coin();
    const Shape weights = transposed ? Shape{results, shape[1]} : Shape{shape[1], results};
    Attributes attributes{{"transB", std::int64_t{transposed ? 1 : 0}}};
    if (d.choose.rarely(4)) {
      attributes.set("alpha", 0.5F);
    }
    return d.op("Gemm", {x, d.constant(weights, shape[1]), d.constant({results})},
                d.each(x,
                       [&](const Shape& s) {
                         return Shape{s[0], results};
                       }),
                attributes);
  }
  if (shape.size() == 4 && shape[2] == shape[3] && d.choose.rarely(3)) {
    for (const ValueId other : d.values) {
      if (d.shapes_of(other) == d.shapes_of(x) && d.is_fixed(x)) {
        return d.op("MatMul", {x, other}, d.shapes_of(x));
      }
    }
  }
  return product_with(d, x, results);
}

/// A value of the same shapes, or what adds to each channel or to all.
std::optional<ValueId> pair(Drawing& d, ValueId x) {
  const Shape& shape = d.shape_of(x);
  std::optional<ValueId> other;
  const std::int64_t first = d.choose.below(static_cast<std::int64_t>(d.values.size()));
  for (std::size_t i = 0; i < d.values.size() && !other; ++i) {
    const ValueId value = d.values[(static_cast<std::size_t>(first) + i) % d.values.size()];
    if (d.shapes_of(value) == d.shapes_of(x)) {
      other = value;
    }
  }
  if (d.choose.rarely(3)) {
    Shape channels(shape.size(), 1);
    channels[1] = d.is_fixed(x, 1) ? shape[1] : 1;
    other = d.choose.coin() ? d.constant(channels) : d.constant(Shape{});
  }
  const std::int64_t type = d.choose.below(6);
  if (type == 0 && d.graph.constant(*other) == nullptr) {
    return d.op("Concat", {x, *other},
                d.each(x,
                       [](Shape s) {
                         s[1] *= 2;
                         return s;
                       }),
                {{"axis", std::int64_t{1}}});
  }
  constexpr std::array<const char*, 6> kOps{"Add", "Add", "Add", "Mul", "Sub", "Max"};
  return d.op(kOps.at(static_cast<std::size_t>(type)), {x, *other}, d.shapes_of(x));
}

std::optional<ValueId> moved_image(Drawing& d, ValueId x) {
  switch (d.choose.below(4)) {
    case 0:
      return d.op("Transpose", {x},
                  d.each(x,
                         [](const Shape& s) {
                           return Shape{s[0], s[2], s[3], s[1]};
                         }),
                  {{"perm", Integers{0, 2, 3, 1}}});
    case 1:
      return d.op("Transpose", {x},
                  d.each(x,
                         [](const Shape& s) {
                           return Shape{s[0], s[1], s[3], s[2]};
                         }),
                  {{"perm", Integers{0, 1, 3, 2}}});
    case 2: {
      const std::int64_t channels = d.shape_of(x)[1];
      if (!d.is_fixed(x, 1)) {
        return {};
      }
      const std::int64_t begin = d.choose.below(channels);
      return d.op("Slice", {x, d.integers({begin}), d.integers({channels}), d.integers({1})},
                  d.each(x, [&](const Shape& s) {
                    return Shape{s[0], channels - begin, s[2], s[3]};
                  }));
    }
    default:
      if (d.kind.has_open_extents) {
        return d.op("Reshape", {x, d.integers({0, 0, -1})}, d.each(x, [](const Shape& s) {
          return Shape{s[0], s[1], s[2] * s[3]};
        }));
      }
      const Shape& s = d.shape_of(x);
      return d.op("Reshape", {x, d.integers({s[0], s[1], s[3], s[2]})},
                  d.always({s[0], s[1], s[3], s[2]}));
  }
}

std::optional<ValueId> moved(Drawing& d, ValueId x) {
  if (d.rank_of(x) == 4) {
    return moved_image(d, x);
  }
  if (d.rank_of(x) == 3) {
    if (d.choose.coin()) {
      return d.op("Reshape", {x, d.integers({0, 0, -1, 1})}, d.each(x, [](const Shape& s) {
        return Shape{s[0], s[1], s[2], 1};
      }));
    }
    return d.op("Transpose", {x},
                d.each(x,
                       [](const Shape& s) {
                         return Shape{s[0], s[2], s[1]};
                       }),
                {{"perm", Integers{0, 2, 1}}});
  }
  const std::int64_t first = d.kind.has_open_extents ? 0 : d.shape_of(x)[0];
  return d.op("Reshape", {x, d.integers({first, -1, 1, 1})}, d.each(x, [](const Shape& s) {
    return Shape{s[0], s[1], 1, 1};
  }));
}

}  // namespace

std::optional<ValueId> product_with(Drawing& d, ValueId x, std::int64_t results) {
  const std::size_t last = d.rank_of(x) - 1;
  const std::int64_t terms = d.shape_of(x)[last];
  if (terms > kMostFactors || !d.is_fixed(x, last)) {
    return {};
  }
  return d.op("MatMul", {x, d.constant({terms, results}, terms)}, d.each(x, [&](Shape s) {
    s.back() = results;
    return s;
  }));
}

ValueId any_function(Drawing& d, ValueId x) {
  const Shapes& shapes = d.shapes_of(x);
  switch (d.choose.below(8)) {
    case 0:
      return d.op("Clip", {x, d.scalar(0), d.scalar(6)}, shapes);
    case 1:
      return d.op("Clip", {x, d.scalar(-0.3F), d.scalar(d.choose.coin() ? 1.7F : -0.1F)},
                  shapes);
    case 2:
      return d.op("Sigmoid", {x}, shapes);
    case 3:
      return d.op("Tanh", {x}, shapes);
    case 4:
      return d.op("LeakyRelu", {x}, shapes, {{"alpha", 0.1F}});
    case 5:
      return d.op("Softmax", {x}, shapes, {{"axis", std::int64_t{1}}});
    default:
      return d.op("Relu", {x}, shapes);
  }
}

std::optional<ValueId> any_layer(Drawing& d) {
  return any_layer(d, d.any());
}

std::optional<ValueId> any_layer(Drawing& d, ValueId x) {
  switch (d.choose.below(8)) {
    case 0:
    case 4:
      return any_function(d, x);
    case 1:
      return pair(d, x);
    case 2:
      return moved(d, x);
    case 3:
      return product(d, x);
    default:
      return d.rank_of(x) == 4 ? spatial(d, x) : product(d, x);
  }
}

}  // namespace tare::fuzz
