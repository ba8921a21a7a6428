#include "onnx/check_window.h"

#include "tare/error.h"

#include <algorithm>
#include <array>

namespace tare {
namespace {

constexpr std::int64_t kFar = std::int64_t{1} << 60;

bool is_any_of(const std::string& op, std::span<const char* const> names) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

/// Extents of the window; none where they are not known yet.
std::vector<std::int64_t> kernel_of(const InferenceRequest& request, bool convolves) {
  std::vector<std::int64_t> kernel = request.attributes.integers("kernel_shape", {});
  if (kernel.empty() && convolves && request.operands.size() > 1 &&
      request.operands[1].type != nullptr && request.operands[1].type->shape.size() > 2) {
    const Shape& weights = request.operands[1].type->shape;
    kernel.assign(weights.begin() + 2, weights.end());
  }
  return kernel;
}

[[noreturn]] void refuse(const char* name, std::int64_t value, const std::string& expected) {
  throw Error(ErrorCode::kInvalidModel, "",
              "attribute '" + std::string(name) + "' has " + std::to_string(value))
      .expected(expected);
}

}  // namespace

void check_window(const InferenceRequest& request) {
  constexpr std::array kConvolutions{"Conv", "ConvInteger", "ConvTranspose", "QLinearConv"};
  constexpr std::array kPools{"AveragePool", "MaxPool", "LpPool"};
  const bool convolves = is_any_of(request.op, kConvolutions);
  if (!convolves && !is_any_of(request.op, kPools)) {
    return;
  }
  // A transposed convolution may be padded by less than nothing.
  const std::int64_t least = request.op == "ConvTranspose" ? -kFar : 0;
  for (const std::int64_t pad : request.attributes.integers("pads", {})) {
    if (pad < least || pad > kFar) {
      refuse("pads", pad, std::to_string(least) + " to " + std::to_string(kFar));
    }
  }
  const auto kernel = kernel_of(request, convolves);
  const auto dilations = request.attributes.integers("dilations", {});
  for (std::size_t i = 0; i < std::min(kernel.size(), dilations.size()); ++i) {
    if (kernel[i] > 1 && dilations[i] > kFar / (kernel[i] - 1)) {
      refuse("dilations", dilations[i],
             "at most " + std::to_string(kFar / (kernel[i] - 1)) + " between " +
                 std::to_string(kernel[i]) + " taps");
    }
  }
}

}  // namespace tare
