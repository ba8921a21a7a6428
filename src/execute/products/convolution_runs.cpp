// A convolution as runs: for each position of the kernel, the stretches of neighbouring results
// that it contributes to, with padding cut off. The loops over results have no bounds to check
// then, and each multiplies a row by a single weight, which the compiler vectorizes. It is for
// kernels that add up integers, which no library here does. Memory: a few numbers for each row
// of results and kernel position.
#include "execute/products/convolution_runs.h"

#include "tare/error.h"

#include <utility>

namespace tare {
namespace {

using Run = ConvolutionRuns::Run;

/// The results o with 0 <= o * stride + shift < input.
std::pair<std::int64_t, std::int64_t> valid_range(const Window& w, std::size_t axis,
                                                  std::int64_t shift) {
  const std::int64_t stride = w.strides[axis];
  const std::int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  const std::int64_t room = w.input[axis] - shift;
  const std::int64_t last = room <= 0 ? 0 : (room - 1) / stride + 1;
  return {first, std::min(last, w.output[axis])};
}

/// Appends the runs of one tap, axis by axis.
void add_runs(const Window& w, const std::vector<std::int64_t>& shift, std::size_t axis,
              Run run, std::vector<Run>& runs) {
  const auto [first, last] = valid_range(w, axis, shift[axis]);
  run.to *= w.output[axis];
  run.from *= w.input[axis];
  if (axis + 1 == w.axes()) {
    if (first < last) {
      runs.push_back({run.tap, run.to + first, run.from + first * w.strides[axis] + shift[axis],
                      last - first});
    }
    return;
  }
  for (std::int64_t o = first; o < last; ++o) {
    Run deeper = run;
    deeper.to += o;
    deeper.from += o * w.strides[axis] + shift[axis];
    add_runs(w, shift, axis + 1, deeper, runs);
  }
}

std::vector<Run> make_runs(const Window& w, std::size_t taps) {
  std::vector<Run> runs;
  for (std::size_t tap = 0; tap < taps; ++tap) {
    std::vector<std::int64_t> shift(w.axes());
    auto rest = static_cast<std::int64_t>(tap);
    for (std::size_t axis = w.axes(); axis-- > 0;) {
      shift[axis] = rest % w.kernel[axis] * w.dilations[axis] - w.pads_begin[axis];
      rest /= w.kernel[axis];
    }
    add_runs(w, shift, 0, {tap, 0, 0, 0}, runs);
  }
  return runs;
}

/// Of weights [many * groups, few, positions] that connect `wide` = [n, many * groups, ...]
/// with `narrow` = [n, few * groups, ...].
void require_fit(const Shape& weights, std::int64_t groups, const Shape& wide,
                 const Shape& narrow) {
  if (wide.size() < 3 || weights.size() != wide.size() || narrow.size() != wide.size() ||
      groups < 1 || weights[0] % groups != 0 || wide[1] != weights[0] ||
      narrow[1] != weights[1] * groups || narrow[0] != wide[0]) {
    throw Error(ErrorCode::kInvalidModel, "",
                "weight " + to_string(weights) + " does not fit " + to_string(wide) + " and " +
                    to_string(narrow));
  }
}

std::size_t area(const std::vector<std::int64_t>& extents) {
  return static_cast<std::size_t>(element_count(extents));
}

}  // namespace

ConvolutionRuns convolution_runs(const Attributes& attributes, const Shape& x,
                                 const Shape& weights, const Shape& result) {
  const std::int64_t groups = attributes.integer("group", 1);
  require_fit(weights, groups, result, x);
  const Window window = make_window(attributes, x, result, spatial(weights));
  ConvolutionRuns c;
  c.batch = static_cast<std::size_t>(x[0]);
  c.groups = static_cast<std::size_t>(groups);
  c.inputs = static_cast<std::size_t>(weights[1]);
  c.outputs = static_cast<std::size_t>(weights[0] / groups);
  c.taps = area(window.kernel);
  c.input_area = area(window.input);
  c.output_area = area(window.output);
  c.input_stride = c.taps;
  c.output_stride = c.inputs * c.taps;
  c.from_step = window.strides.back();
  c.runs = make_runs(window, c.taps);
  return c;
}

ConvolutionRuns transposed_runs(const Attributes& attributes, const Shape& x,
                                const Shape& weights, const Shape& result) {
  const std::int64_t groups = attributes.integer("group", 1);
  require_fit(weights, groups, x, result);
  const Window window = make_transposed_window(attributes, x, result, spatial(weights));
  ConvolutionRuns c;
  c.batch = static_cast<std::size_t>(x[0]);
  c.groups = static_cast<std::size_t>(groups);
  c.inputs = static_cast<std::size_t>(weights[0] / groups);
  c.outputs = static_cast<std::size_t>(weights[1]);
  c.taps = area(window.kernel);
  c.input_area = area(window.output);
  c.output_area = area(window.input);
  c.input_stride = c.outputs * c.taps;
  c.output_stride = c.taps;
  c.to_step = window.strides.back();
  c.runs = make_runs(window, c.taps);
  for (Run& run : c.runs) {
    std::swap(run.to, run.from);
  }
  return c;
}

}  // namespace tare
