#pragma once

#include "tare/graph.h"

#include "support/random/random.h"

#include <vector>

namespace tare::test {

/// One spatial axis of a sliding window.
struct SlidingAxis {
  std::int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, begin = 0, end = 0;

  std::int64_t reach() const { return (kernel - 1) * dilation + 1; }
  std::int64_t room() const { return in + begin + end - reach(); }
};

/// Whose windows are all over the place: one result, one tap, taps in the padding only, and
/// sometimes steps, gaps and padding of billions.
std::vector<SlidingAxis> random_axes(Random&);
/// strides, dilations and pads.
Attributes sliding_attributes(const std::vector<SlidingAxis>&);

/// The shapes of a convolution, or of its transpose, where `in` and `out` of the axes change
/// places.
struct Layer {
  std::int64_t batch = 1, groups = 1, inputs = 1, outputs = 1;  ///< channels of one group
  std::vector<SlidingAxis> axes;
  bool transposed = false;

  Shape x() const;
  Shape weights() const;
  Shape y() const;
  Attributes attributes() const;
};

enum class LayerKind : std::uint8_t { kAny, kDepthwise, kTransposed };
Layer random_layer(LayerKind, Random&);

/// Elements of the result, the operand and the weights that meet in one product.
struct Meeting {
  std::size_t y, x, weight;
};

/// Positions of result, operand and weights that meet, by the definition of the window.
std::vector<Meeting> meetings(const std::vector<SlidingAxis>&);

/// Calls add(Meeting) for every product of a layer.
template <class Add>
void for_each_product(const Layer& layer, Add add) {
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  std::size_t positions_x = 1;
  std::size_t positions_y = 1;
  std::size_t taps = 1;
  for (const SlidingAxis& axis : layer.axes) {
    positions_x *= size(layer.transposed ? axis.out : axis.in);
    positions_y *= size(layer.transposed ? axis.in : axis.out);
    taps *= size(axis.kernel);
  }
  const std::size_t inputs = size(layer.inputs);
  const std::size_t outputs = size(layer.outputs);
  for (const Meeting& at : meetings(layer.axes)) {
    const std::size_t at_x = layer.transposed ? at.y : at.x;
    const std::size_t at_y = layer.transposed ? at.x : at.y;
    for (std::size_t group = 0; group < size(layer.batch * layer.groups); ++group) {
      const std::size_t kernels = group % size(layer.groups) * inputs * outputs;
      for (std::size_t o = 0; o < outputs; ++o) {
        for (std::size_t i = 0; i < inputs; ++i) {
          const std::size_t pair = layer.transposed ? i * outputs + o : o * inputs + i;
          add({(group * outputs + o) * positions_y + at_y,
               (group * inputs + i) * positions_x + at_x, (kernels + pair) * taps + at.weight});
        }
      }
    }
  }
}

}  // namespace tare::test
