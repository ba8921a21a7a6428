// ConvInputGradient(dY, W) and ConvWeightGradient(X, dY): what a Conv of the same attributes
// gives back, for learning. Shapes of results say what the convolution reads.
#include "execute/operands.h"
#include "execute/products/convolution_gradients.h"
#include "execute/products/layer_convolution.h"

namespace tare {
namespace {

std::unique_ptr<Kernel> make_conv_gradient(const KernelRequest& request) {
  const bool of_weights = request.node->op == "ConvWeightGradient";
  const Operand& x = of_weights ? required(request, 0) : request.outputs[0];
  const Operand& w = of_weights ? request.outputs[0] : required(request, 1);
  const Operand& y = required(request, of_weights ? 1 : 0);
  if (!all_f32(request) || x.shape().size() < 3 || x.shape().size() > 5) {
    return nullptr;
  }
  const auto spec = onednn::convolution_between(request.attributes(), x.shape(), w.shape(), y);
  if (!spec) {
    return nullptr;
  }
  return of_weights ? onednn::make_weight_gradient(*spec) : onednn::make_source_gradient(*spec);
}

}  // namespace
}  // namespace tare

TARE_KERNEL(conv_gradients) {
  using namespace tare;
  return {.ops = {"ConvInputGradient", "ConvWeightGradient"},
          .layout =
              [](const KernelRequest& request) {
                return request.node->op == "ConvWeightGradient"
                           ? LayoutRule::kOperandsChannelsLast
                           : LayoutRule::kChannelsLast;
              },
          .make = make_conv_gradient};
}
