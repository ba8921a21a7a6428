// Conv by oneDNN, with channels last. Strides, dilations and pads beyond what that counts in 32
// bits go to conv_far.cpp.
#include "tare/error.h"

#include "execute/elements/window.h"
#include "execute/operands.h"
#include "execute/products/convolution.h"

#include <algorithm>

namespace tare {
namespace {

/// oneDNN counts in 32 bits, bytes between taps included. Nothing that is trained comes near.
bool within_reach(const Window& window) {
  const auto near = [](const std::vector<std::int64_t>& values) {
    return std::all_of(values.begin(), values.end(),
                       [](std::int64_t value) { return value <= (1 << 15); });
  };
  return near(window.strides) && near(window.dilations) && near(window.pads_begin) &&
         near(window.pads_end);
}

std::unique_ptr<Kernel> make_conv(const KernelRequest& request) {
  const Shape& input = required(request, 0).shape();
  const Shape& weights = required(request, 1).shape();
  const Shape& output = request.outputs[0].shape();
  if (!all_f32(request) || input.size() < 3 || input.size() > 5 ||
      !scales_along(request.post_ops, 1)) {
    return nullptr;
  }
  const std::int64_t groups = request.attributes().integer("group", 1);
  const bool depthwise = groups > 1 && input[1] == groups;
  const auto adds = [](const PostOp& op) { return op.kind == PostOp::Kind::kAdd; };
  if (depthwise && std::any_of(request.post_ops.begin(), request.post_ops.end(), adds)) {
    return nullptr;  // slower than an Add of its own
  }
  if (weights.size() != input.size() || groups < 1 || weights[0] % groups != 0 ||
      input[1] != weights[1] * groups) {
    throw Error(ErrorCode::kInvalidModel, "",
                "input " + to_string(input) + " does not fit weights " + to_string(weights) +
                    " in " + std::to_string(groups) + " groups");
  }
  const Window window = make_window(request.attributes(), input, output, spatial(weights));
  Shape expected = output;  // the window vouches for the spatial extents
  expected[0] = input[0];
  expected[1] = weights[0];
  expect_shape(request.outputs[0], expected);
  if (!within_reach(window)) {
    return nullptr;
  }

  dnnl::memory::dims extents = weights;
  if (groups > 1) {
    extents[0] /= groups;
    extents.insert(extents.begin(), groups);
  }
  dnnl::memory::dims strides(extents.size(), 1);
  for (std::size_t i = extents.size() - 1; i > 0; --i) {
    strides[i - 1] = strides[i] * extents[i];
  }
  onednn::Convolution spec{
      .source = input,
      .result = output,
      .weights = extents,
      .weight_strides = strides,
      .strides = window.strides,
      .dilations = window.dilations,
      .pads_begin = window.pads_begin,
      .pads_end = window.pads_end,
      .constant_weights = {},
      .constant_bias = {},
      .precise = request.precise,
  };
  if (request.inputs[1].constant != nullptr) {
    spec.constant_weights = *request.inputs[1].constant;
  }
  if (request.has_input(2)) {
    expect_shape(request.inputs[2], {weights[0]});
    spec.computed_bias = request.inputs[2].constant == nullptr;
    if (!spec.computed_bias) {
      spec.constant_bias = *request.inputs[2].constant;
    }
  }
  return onednn::make_convolution(spec, request.post_ops);
}

}  // namespace
}  // namespace tare

TARE_KERNEL(conv) {
  using namespace tare;
  return {.ops = {"Conv"},
          .layout = [](const KernelRequest&) { return LayoutRule::kChannelsLast; },
          .make = make_conv,
          .fuses_post_ops = true};
}
