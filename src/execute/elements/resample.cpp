// Resize of ONNX, opset 13 and on: where each result lies on the operand's axis, and which
// neighbours it is made of with which weights. Linear interpolation weighs two, cubic
// convolution four (Keys, "Cubic Convolution Interpolation for Digital Image Processing", 1981,
// with ONNX's coefficient of -0.75 in place of -0.5). Weights are made once, in double, for
// each position along an axis; how to apply them is left to kernels. Cost: a few numbers for
// each position.
#include "execute/elements/resample.h"

#include "tare/error.h"

#include "execute/elements/dispatch.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace tare {
namespace {

std::string checked_text(const KernelRequest& request, std::string_view name,
                         std::string_view fallback, const std::vector<std::string>& known) {
  std::string value = request.attributes().text(name, fallback);
  if (std::find(known.begin(), known.end(), value) == known.end()) {
    throw Error(ErrorCode::kUnsupported, "", std::string(name) + " '" + value + "'");
  }
  return value;
}

/// Where position x of the result lies on the operand's axis. Corners are aligned by the length
/// before rounding, which is what ONNX's own test data wants; it only differs from the extent
/// where a scale does not give a whole number.
double original(const std::string& mode, const ResampleAxis& axis, double x) {
  const auto in = static_cast<double>(axis.input);
  // What keeps its extent is not resampled, or tf_half_pixel_for_nn would move channels.
  if (axis.scale == 1 && axis.input == axis.output && mode != "tf_crop_and_resize") {
    return x;
  }
  if (mode == "asymmetric") {
    return x / axis.scale;
  }
  if (mode == "align_corners") {
    return axis.output == 1 ? 0 : x * (in - 1) / (axis.length - 1);
  }
  if (mode == "tf_half_pixel_for_nn") {
    return (x + 0.5) / axis.scale;
  }
  if (mode == "tf_crop_and_resize") {
    return axis.output > 1 ? axis.roi_start * (in - 1) + x * (axis.roi_end - axis.roi_start) *
                                                             (in - 1) / (axis.length - 1)
                           : 0.5 * (axis.roi_start + axis.roi_end) * (in - 1);
  }
  if (mode == "pytorch_half_pixel" && axis.output == 1) {
    return 0;
  }
  return (x + 0.5) / axis.scale - 0.5;
}

double nearest(const std::string& mode, double x) {
  if (mode == "floor") {
    return std::floor(x);
  }
  if (mode == "ceil") {
    return std::ceil(x);
  }
  return mode == "round_prefer_ceil" ? std::floor(x + 0.5) : std::ceil(x - 0.5);
}

/// Weights of the four neighbours of a position, `t` behind the second of them.
std::array<double, 4> cubic(double a, double t) {
  const auto near = [a](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [a](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(1 + t), near(t), near(1 - t), far(2 - t)};
}

std::vector<double> weights(const ResampleRule& rule, double t) {
  if (rule.mode == "nearest") {
    return {1};
  }
  if (rule.mode == "linear") {
    return {1 - t, t};
  }
  const auto four = cubic(rule.cubic_a, t);
  return {four.begin(), four.end()};
}

/// Weight of an element at a distance, in steps of the result.
double falloff(const ResampleRule& rule, double distance) {
  const double d = std::abs(distance);
  if (rule.mode == "linear") {
    return std::max(1 - d, 0.0);
  }
  return d < 1 ? cubic(rule.cubic_a, d)[1] : d < 2 ? cubic(rule.cubic_a, d - 1)[0] : 0;
}

/// Filters before it leaves elements out: those within one step of the result count, two steps
/// of cubic ones.
Taps antialiased(const ResampleRule& rule, const ResampleAxis& axis) {
  Taps taps;
  const double reach = (rule.mode == "cubic" ? 2 : 1) / axis.scale;
  taps.width = convert<std::size_t>(2 * std::ceil(reach) + 1);
  const bool crops = rule.coordinate == "tf_crop_and_resize";
  for (std::int64_t i = 0; i < axis.output; ++i) {
    const double x = original(rule.coordinate, axis, static_cast<double>(i));
    const auto first = convert<std::int64_t>(std::floor(x - reach + 1));
    std::vector<double> weight;
    for (std::size_t k = 0; k < taps.width; ++k) {
      const std::int64_t index = first + static_cast<std::int64_t>(k);
      const std::int64_t inside = std::clamp<std::int64_t>(index, 0, axis.input - 1);
      const bool counts = !rule.exclude_outside || index == inside;
      weight.push_back(counts ? falloff(rule, (static_cast<double>(index) - x) * axis.scale)
                              : 0);
      taps.index.push_back(inside);
    }
    const double sum = std::accumulate(weight.begin(), weight.end(), 0.0);
    for (const double w : weight) {
      taps.weight.push_back(static_cast<float>(w / sum));
    }
    taps.outside.push_back(crops && (x < 0 || x > static_cast<double>(axis.input - 1)));
  }
  return taps;
}

}  // namespace

ResampleRule resample_rule(const KernelRequest& request) {
  ResampleRule rule;
  rule.mode = checked_text(request, "mode", "nearest", {"nearest", "linear", "cubic"});
  rule.coordinate = checked_text(request, "coordinate_transformation_mode", "half_pixel",
                                 {"half_pixel", "pytorch_half_pixel", "align_corners",
                                  "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"});
  rule.nearest = checked_text(request, "nearest_mode", "round_prefer_floor",
                              {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  rule.cubic_a = static_cast<double>(request.attributes().real("cubic_coeff_a", -0.75F));
  rule.antialias = request.attributes().integer("antialias", 0) != 0;
  rule.exclude_outside = request.attributes().integer("exclude_outside", 0) != 0;
  return rule;
}

Taps make_taps(const ResampleRule& rule, const ResampleAxis& axis) {
  if (rule.antialias && rule.mode != "nearest" && axis.scale < 1) {
    return antialiased(rule, axis);
  }
  Taps taps;
  taps.width = weights(rule, 0).size();
  taps.identity = axis.input == axis.output;
  const bool crops = rule.coordinate == "tf_crop_and_resize";
  const std::int64_t before = rule.mode == "cubic" ? 1 : 0;
  for (std::int64_t i = 0; i < axis.output; ++i) {
    const double x = original(rule.coordinate, axis, static_cast<double>(i));
    const double base = rule.mode == "nearest" ? nearest(rule.nearest, x) : std::floor(x);
    const auto first = convert<std::int64_t>(base) - before;
    std::vector<double> weight = weights(rule, x - base);
    for (std::size_t k = 0; k < weight.size(); ++k) {
      const std::int64_t index = first + static_cast<std::int64_t>(k);
      const std::int64_t inside = std::clamp<std::int64_t>(index, 0, axis.input - 1);
      if (rule.exclude_outside && index != inside) {
        weight[k] = 0;
      }
      taps.index.push_back(inside);
      taps.identity = taps.identity && (weight[k] == 0 || inside == i);
    }
    const double sum = std::accumulate(weight.begin(), weight.end(), 0.0);
    for (const double w : weight) {
      taps.weight.push_back(static_cast<float>(rule.exclude_outside ? w / sum : w));
    }
    taps.outside.push_back(crops && (x < 0 || x > static_cast<double>(axis.input - 1)));
    taps.identity = taps.identity && !taps.outside.back();
  }
  return taps;
}

}  // namespace tare
