// Where the windows of pools end at an edge, for each position along each axis.
#include "execute/elements/pool_windows.h"

#include "execute/elements/window.h"
#include "execute/operands.h"

#include <algorithm>

namespace tare {
namespace {

std::int64_t taps_up_to(std::int64_t a, std::int64_t b) {
  return a <= 0 ? 0 : (a + b - 1) / b;
}

PoolAxis make_pool_axis(const Window& window, std::size_t i) {
  PoolAxis axis{window.input[i], window.dilations[i], {}};
  const std::int64_t kernel = window.kernel[i];
  for (std::int64_t o = 0; o < window.output[i]; ++o) {
    const std::int64_t start = o * window.strides[i] - window.pads_begin[i];
    const std::int64_t first = std::min(kernel, taps_up_to(-start, axis.dilation));
    const auto taps_before = [&](std::int64_t end) {
      return std::min(kernel, taps_up_to(end - start, axis.dilation));
    };
    axis.taps.push_back({start + first * axis.dilation,
                         std::max<std::int64_t>(0, taps_before(axis.input) - first),
                         taps_before(axis.input + window.pads_end[i])});
  }
  return axis;
}

}  // namespace

Pool pool_of(std::string_view op, const Attributes& attributes, const Shape& input,
             const Operand& result) {
  const bool global = op.starts_with("Global");
  const Window window =
      make_window(global ? Attributes() : attributes, input, result.shape(),
                  global ? spatial(input) : attributes.integers("kernel_shape"));
  Shape expected = result.shape();  // the window vouches for the spatial extents
  expected[0] = input[0];
  expected[1] = input[1];
  expect_shape(result, expected);
  Pool pool{.batch = input[0],
            .channels = input[1],
            .axes = {},
            .include_pad = attributes.integer("count_include_pad", 0) != 0,
            .column_major = attributes.integer("storage_order", 0) != 0};
  for (std::size_t i = 0; i < window.axes(); ++i) {
    pool.axes[i + 3 - window.axes()] = make_pool_axis(window, i);
  }
  return pool;
}

}  // namespace tare
