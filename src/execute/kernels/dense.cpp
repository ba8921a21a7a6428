// Gemm and MatMul with constant weights as a pointwise convolution by oneDNN.
#include "execute/products/layer_convolution.h"

namespace tare {
namespace {

std::unique_ptr<Kernel> make_dense(const KernelRequest& request) {
  const auto spec = onednn::layer_convolution(request);
  return spec && scales_along(request.post_ops, request.outputs[0].shape().size() - 1)
             ? onednn::make_convolution(*spec, request.post_ops)
             : nullptr;
}

}  // namespace
}  // namespace tare

TARE_KERNEL(dense) {
  using namespace tare;
  return {.ops = {"Gemm", "MatMul"}, .make = make_dense, .fuses_post_ops = true};
}
