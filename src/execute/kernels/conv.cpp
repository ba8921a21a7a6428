// Conv by oneDNN, with channels last. Strides, dilations and pads beyond what that counts in 32
// bits go to conv_far.cpp.
#include "execute/operands.h"
#include "execute/products/layer_convolution.h"

#include <algorithm>

namespace tare {
namespace {

/// A residual behind a depthwise convolution.
bool is_slower_than_add(const KernelRequest& request) {
  const std::int64_t groups = request.attributes().integer("group", 1);
  return groups > 1 && required(request, 0).shape()[1] == groups &&
         std::any_of(request.post_ops.begin(), request.post_ops.end(),
                     [](const PostOp& op) { return op.kind == PostOp::Kind::kAdd; });
}

std::unique_ptr<Kernel> make_conv(const KernelRequest& request) {
  if (!scales_along(request.post_ops, 1)) {
    return nullptr;
  }
  const auto spec = onednn::layer_convolution(request);
  return spec && !is_slower_than_add(request)
             ? onednn::make_convolution(*spec, request.post_ops)
             : nullptr;
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
