// The geometry of convolutions and pools, as ONNX's attributes say it: strides, dilations,
// pads, auto_pad, ceil_mode. Numbers are bounded so that no later product of them overflows,
// whatever a file claims.
#include "execute/elements/window.h"

#include "tare/error.h"

#include <algorithm>
#include <limits>

namespace tare {
namespace {

/// Sums of a few numbers up to this one cannot overflow, and nothing is that far away.
constexpr std::int64_t kFar = std::int64_t{1} << 60;

/// `most` of a step or gap is any number: where it matters it is looked at again.
std::vector<std::int64_t> per_axis(const Attributes& attributes, std::string_view name,
                                   std::size_t count, std::int64_t fallback, std::int64_t least,
                                   std::int64_t most = kFar) {
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
  if (std::any_of(values.begin(), values.end(), [&](std::int64_t v) { return v > most; })) {
    throw Error(ErrorCode::kInvalidModel, "",
                "attribute '" + std::string(name) + "' is " + to_string(values))
        .expected("entries of at most " + std::to_string(most));
  }
  return values;
}

constexpr std::int64_t kAnyNumber = std::numeric_limits<std::int64_t>::max();

/// Throws Error(kInvalidModel) where so many steps of that length lead too far.
void require_near(std::string_view name, std::int64_t steps, std::int64_t length) {
  if (steps > 0 && length > kFar / steps) {
    throw Error(ErrorCode::kInvalidModel, "",
                "attribute '" + std::string(name) + "' has " + std::to_string(length))
        .expected("at most " + std::to_string(kFar / steps));
  }
}

/// Reads strides and dilations. Between the taps of a kernel with one tap there are no gaps.
void read_steps(const Attributes& attributes, Window& window) {
  const std::size_t axes = window.axes();
  window.strides = per_axis(attributes, "strides", axes, 1, 1, kAnyNumber);
  window.dilations = per_axis(attributes, "dilations", axes, 1, 1, kAnyNumber);
  for (std::size_t i = 0; i < axes; ++i) {
    window.dilations[i] = window.kernel[i] == 1 ? 1 : window.dilations[i];
    require_near("dilations", window.kernel[i] - 1, window.dilations[i]);
  }
}

/// ceil(a / b) for a >= 0, b > 0, without a sum that may overflow.
std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

/// SAME_UPPER and SAME_LOWER: as many results as strides fit, the odd element of padding at the
/// end or at the beginning.
void pad_same(Window& window, bool upper) {
  for (std::size_t i = 0; i < window.axes(); ++i) {
    const std::int64_t count = ceil_divide(window.input[i], window.strides[i]);
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
                .strides = {},
                .dilations = {},
                .pads_begin = std::vector<std::int64_t>(axes, 0),
                .pads_end = std::vector<std::int64_t>(axes, 0)};
  read_steps(attributes, window);
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
    const std::int64_t steps =
        ceil && room > 0 ? ceil_divide(room, window.strides[i]) : room / window.strides[i];
    if (room < 0 || window.output[i] != steps + 1) {
      throw Error(ErrorCode::kInvalidModel, "",
                  "result has extent " + std::to_string(window.output[i]) +
                      " on spatial axis " + std::to_string(i))
          .expected(room < 0 ? "none, the window is larger than the input"
                             : std::to_string(steps + 1));
    }
    require_near("strides", steps, window.strides[i]);
    if (steps == 0) {  // taken by nothing, however long; oneDNN wants it to fit the extents
      window.strides[i] = std::min(window.strides[i], room + 1);
    }
  }
  return window;
}

Window make_transposed_window(const Attributes& attributes, const Shape& input,
                              const Shape& output, std::vector<std::int64_t> kernel) {
  const std::size_t axes = kernel.size();
  const auto pads = per_axis(attributes, "pads", 2 * axes, 0, -kFar);
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(axes);
  Window window{.input = spatial(output),
                .output = spatial(input),
                .kernel = std::move(kernel),
                .strides = {},
                .dilations = {},
                .pads_begin = {pads.begin(), middle},
                .pads_end = {middle, pads.end()}};
  read_steps(attributes, window);
  const auto more = per_axis(attributes, "output_padding", axes, 0, 0);
  const std::string auto_pad = attributes.text("auto_pad", "NOTSET");
  const bool derived = auto_pad.starts_with("SAME") || attributes.has("output_shape");
  for (std::size_t i = 0; i < axes; ++i) {
    window.strides[i] = window.output[i] == 1 ? 1 : window.strides[i];  // there is no step
    require_near("strides", window.output[i] - 1, window.strides[i]);
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
