#include "kernels/layer.h"

#include "kernels/trial.h"

#include <algorithm>

namespace tare::test {
namespace {

/// Makes one of the numbers of an axis large, up to what 32 bits cannot hold; the result stays
/// small.
void draw_far(SlidingAxis& axis, Random& random) {
  const std::int64_t far = (std::int64_t{1} << random.integer(8, 33)) + random.integer(-2, 2);
  switch (random.integer(0, 3)) {
    case 0:
      axis.kernel = 1;
      axis.dilation = far;
      break;
    case 1:
      axis.stride = far;
      break;
    case 2:
      axis.begin += far;
      axis.stride = far / random.integer(1, 3) - random.integer(0, 2);
      break;
    default:
      axis.kernel = 2;
      axis.dilation = far;
      (random.coin() ? axis.begin : axis.end) = far;
  }
}

SlidingAxis random_axis(bool one_result, bool one_tap, Random& random) {
  SlidingAxis axis;
  axis.kernel = one_tap ? 1 : one_in(7, random) ? random.integer(4, 7) : random.integer(1, 3);
  axis.dilation = one_in(3, random) ? random.integer(2, 3) : 1;
  axis.stride = random.coin() ? 1 : random.integer(2, 3);
  const auto padding = [&] {
    return random.coin() ? 0
                         : random.integer(0, axis.reach() - 1 + (one_in(4, random) ? 2 : 0));
  };
  axis.begin = padding();
  axis.end = padding();
  const std::int64_t results = one_result          ? 1
                               : one_in(4, random) ? random.integer(1, 2)
                                                   : random.integer(1, 9);
  axis.in = std::max<std::int64_t>(1, (results - 1) * axis.stride + axis.reach() - axis.begin -
                                          axis.end + random.integer(0, axis.stride - 1));
  if (one_in(60, random)) {
    draw_far(axis, random);
  }
  axis.in -= std::min<std::int64_t>(0, axis.room());
  axis.out = axis.room() / axis.stride + 1;
  return axis;
}

std::int64_t product_count(const Layer& layer) {
  std::int64_t count = layer.batch * layer.groups * layer.inputs * layer.outputs;
  for (const SlidingAxis& axis : layer.axes) {
    count *= axis.out * axis.kernel;
  }
  return count;
}

void draw_channels(Layer& layer, LayerKind kind, Random& random) {
  if (kind == LayerKind::kDepthwise) {
    layer.groups = random_channels(random) + 1;
    layer.outputs = one_in(5, random) ? random.integer(2, 3) : 1;
    return;
  }
  layer.groups = one_in(3, random) ? random.integer(2, 6) : 1;
  const auto few = [&] {
    return layer.groups > 1 && random.coin() ? random.integer(1, 9) : random_channels(random);
  };
  layer.inputs = few();
  layer.outputs = few();
}

Shape shape_of(std::int64_t first, std::int64_t second, const std::vector<SlidingAxis>& axes,
               std::int64_t SlidingAxis::*extent) {
  Shape shape{first, second};
  for (const SlidingAxis& axis : axes) {
    shape.push_back(axis.*extent);
  }
  return shape;
}

}  // namespace

std::vector<SlidingAxis> random_axes(Random& random) {
  const std::int64_t count = one_in(5, random) ? 1 : one_in(6, random) ? 3 : 2;
  const bool one_result = one_in(3, random);
  const bool one_tap = one_in(5, random);
  std::vector<SlidingAxis> axes;
  for (std::int64_t i = 0; i < count; ++i) {
    axes.push_back(random_axis(one_result, one_tap, random));
  }
  return axes;
}

Attributes sliding_attributes(const std::vector<SlidingAxis>& axes) {
  const auto each = [&](std::int64_t SlidingAxis::*member) {
    std::vector<std::int64_t> values;
    for (const SlidingAxis& axis : axes) {
      values.push_back(axis.*member);
    }
    return values;
  };
  std::vector<std::int64_t> pads = each(&SlidingAxis::begin);
  const auto ends = each(&SlidingAxis::end);
  pads.insert(pads.end(), ends.begin(), ends.end());
  return {{"strides", each(&SlidingAxis::stride)},
          {"dilations", each(&SlidingAxis::dilation)},
          {"pads", pads}};
}

Shape Layer::x() const {
  return shape_of(batch, groups * inputs, axes,
                  transposed ? &SlidingAxis::out : &SlidingAxis::in);
}

Shape Layer::weights() const {
  return transposed ? shape_of(groups * inputs, outputs, axes, &SlidingAxis::kernel)
                    : shape_of(groups * outputs, inputs, axes, &SlidingAxis::kernel);
}

Shape Layer::y() const {
  return shape_of(batch, groups * outputs, axes,
                  transposed ? &SlidingAxis::in : &SlidingAxis::out);
}

Attributes Layer::attributes() const {
  Attributes result = sliding_attributes(axes);
  result.set("group", groups);
  if (transposed) {
    std::vector<std::int64_t> more;
    for (const SlidingAxis& axis : axes) {
      more.push_back(axis.room() % axis.stride);
    }
    result.set("output_padding", more);
  }
  return result;
}

Layer random_layer(LayerKind kind, Random& random) {
  constexpr std::int64_t kMostProducts = 200'000;
  Layer layer;
  do {
    layer = {};
    layer.transposed = kind == LayerKind::kTransposed;
    layer.batch = one_in(3, random) ? 2 : 1;
    draw_channels(layer, kind, random);
    layer.axes = random_axes(random);
  } while (product_count(layer) > kMostProducts);
  return layer;
}

std::vector<Meeting> meetings(const std::vector<SlidingAxis>& axes) {
  std::vector<Meeting> all{{0, 0, 0}};
  for (const SlidingAxis& axis : axes) {
    std::vector<Meeting> finer;
    for (const Meeting& so_far : all) {
      for (std::int64_t y = 0; y < axis.out; ++y) {
        for (std::int64_t tap = 0; tap < axis.kernel; ++tap) {
          const std::int64_t x = y * axis.stride - axis.begin + tap * axis.dilation;
          if (x >= 0 && x < axis.in) {
            finer.push_back(
                {so_far.y * static_cast<std::size_t>(axis.out) + static_cast<std::size_t>(y),
                 so_far.x * static_cast<std::size_t>(axis.in) + static_cast<std::size_t>(x),
                 so_far.weight * static_cast<std::size_t>(axis.kernel) +
                     static_cast<std::size_t>(tap)});
          }
        }
      }
    }
    all = std::move(finer);
  }
  return all;
}

}  // namespace tare::test
