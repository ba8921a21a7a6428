#include "execute/window.h"

#include "tare/error.h"

#include <algorithm>
#include <limits>

namespace tare {
namespace {

std::vector<std::int64_t> per_axis(const Attributes& attributes, std::string_view name,
                                   std::size_t count, std::int64_t fallback,
                                   std::int64_t least) {
  auto values = attributes.integers(name, std::vector<std::int64_t>(count, fallback));
  if (values.size() != count) {
    throw Error(ErrorCode::kInvalidModel, "",
                "attribute '" + std::string(name) + "' has " + std::to_string(values.size()) +
                    " entries")
        .expected(std::to_string(count));
  }
  if (std::any_of(values.begin(), values.end(), [&](std::int64_t v) { return v < least; })) {
    throw Error(ErrorCode::kInvalidModel, "",
                "attribute '" + std::string(name) + "' is " + to_string(values))
        .expected("entries of at least " + std::to_string(least));
  }
  return values;
}

/// SAME_UPPER and SAME_LOWER: as many results as strides fit, the odd element of padding at the
/// end or at the beginning.
void pad_same(Window& window, bool upper) {
  for (std::size_t i = 0; i < window.axes(); ++i) {
    const std::int64_t count = (window.input[i] + window.strides[i] - 1) / window.strides[i];
    const std::int64_t total = std::max<std::int64_t>(
        0, (count - 1) * window.strides[i] + window.reach(i) - window.input[i]);
    window.pads_begin[i] = upper ? total / 2 : total - total / 2;
    window.pads_end[i] = total - window.pads_begin[i];
  }
}

}  // namespace

std::vector<std::int64_t> spatial(const Shape& shape) {
  return {shape.begin() + 2, shape.end()};
}

Window make_window(const Attributes& attributes, const Shape& input, const Shape& output,
                   std::vector<std::int64_t> kernel) {
  if (input.size() < 3 || output.size() != input.size() || kernel.size() != input.size() - 2) {
    throw Error(ErrorCode::kInvalidModel, "",
                "a window of " + std::to_string(kernel.size()) + " axes over " +
                    to_string(input) + " giving " + to_string(output));
  }
  const std::size_t axes = kernel.size();
  Window window{.input = spatial(input),
                .output = spatial(output),
                .kernel = std::move(kernel),
                .strides = per_axis(attributes, "strides", axes, 1, 1),
                .dilations = per_axis(attributes, "dilations", axes, 1, 1),
                .pads_begin = std::vector<std::int64_t>(axes, 0),
                .pads_end = std::vector<std::int64_t>(axes, 0)};
  const std::string auto_pad = attributes.text("auto_pad", "NOTSET");
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    pad_same(window, auto_pad == "SAME_UPPER");
  } else if (auto_pad != "VALID") {
    const auto pads = per_axis(attributes, "pads", 2 * axes, 0, 0);
    const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(axes);
    window.pads_begin.assign(pads.begin(), middle);
    window.pads_end.assign(middle, pads.end());
  }
  const bool ceil = attributes.integer("ceil_mode", 0) != 0;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t room =
        window.input[i] + window.pads_begin[i] + window.pads_end[i] - window.reach(i);
    const std::int64_t steps = (room + (ceil ? window.strides[i] - 1 : 0)) / window.strides[i];
    if (room < 0 || window.output[i] != steps + 1) {
      throw Error(ErrorCode::kInvalidModel, "",
                  "result has extent " + std::to_string(window.output[i]) +
                      " on spatial axis " + std::to_string(i))
          .expected(room < 0 ? "none, the window is larger than the input"
                             : std::to_string(steps + 1));
    }
  }
  return window;
}

Window make_transposed_window(const Attributes& attributes, const Shape& input,
                              const Shape& output, std::vector<std::int64_t> kernel) {
  const std::size_t axes = kernel.size();
  constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::min();
  const auto pads = per_axis(attributes, "pads", 2 * axes, 0, kAny);
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(axes);
  Window window{.input = spatial(output),
                .output = spatial(input),
                .kernel = std::move(kernel),
                .strides = per_axis(attributes, "strides", axes, 1, 1),
                .dilations = per_axis(attributes, "dilations", axes, 1, 1),
                .pads_begin = {pads.begin(), middle},
                .pads_end = {middle, pads.end()}};
  const auto more = per_axis(attributes, "output_padding", axes, 0, 0);
  const std::string auto_pad = attributes.text("auto_pad", "NOTSET");
  const bool derived = auto_pad.starts_with("SAME") || attributes.has("output_shape");
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t whole =
        (window.output[i] - 1) * window.strides[i] + window.reach(i) + more[i];
    const std::int64_t rest = whole - window.pads_begin[i] - window.pads_end[i];
    if (derived) {
      const std::int64_t cut = std::max<std::int64_t>(0, whole - window.input[i]);
      window.pads_begin[i] = auto_pad == "SAME_UPPER" ? cut / 2 : cut - cut / 2;
      window.pads_end[i] = cut - window.pads_begin[i];
    } else if (rest != window.input[i]) {
      throw Error(ErrorCode::kInvalidModel, "",
                  "result has extent " + std::to_string(window.input[i]) + " on spatial axis " +
                      std::to_string(i))
          .expected(std::to_string(rest));
    }
  }
  return window;
}

}  // namespace tare
