#pragma once

#include "tare/graph.h"

#include "support/random/random.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tare::test {

/// Shapes and attributes of a Conv with one to three spatial axes.
struct Convolution {
  Shape x, weight, y;
  std::vector<std::int64_t> strides, dilations, pads;
  std::int64_t groups;

  Attributes attributes() const {
    return {{"strides", strides}, {"dilations", dilations}, {"pads", pads}, {"group", groups}};
  }
};

inline Convolution random_convolution(Random& random) {
  const auto axes = static_cast<std::size_t>(random.integer(1, 3));
  Convolution c;
  c.groups = random.integer(1, 3);
  const std::int64_t inputs = random.integer(1, 3);
  c.x = {random.integer(1, 2), inputs * c.groups};
  c.weight = {c.groups * random.integer(1, 2), inputs};
  c.y = {c.x[0], c.weight[0]};
  c.strides = random.integers(axes, 1, 3);
  c.dilations = random.integers(axes, 1, 2);
  c.pads = random.integers(2 * axes, 0, 2);
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const std::int64_t kernel = random.integer(1, 3);
    const std::int64_t reach = (kernel - 1) * c.dilations[axis] + 1;
    const std::int64_t in = random.integer(reach, reach + 5);
    c.x.push_back(in);
    c.weight.push_back(kernel);
    c.y.push_back((in + c.pads[axis] + c.pads[axis + axes] - reach) / c.strides[axis] + 1);
  }
  return c;
}

}  // namespace tare::test
