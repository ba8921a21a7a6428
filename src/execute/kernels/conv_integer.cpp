// ConvInteger of ONNX: sums in int32 that wrap where they leave it, as plain runs
// (convolution_runs.h). Operands are brought to int32 without their zero points first.
#include "execute/elements/dispatch.h"
#include "execute/operands.h"
#include "execute/products/convolution_runs.h"
#include "execute/products/integer_operand.h"

namespace tare {
namespace {

std::unique_ptr<Kernel> make_conv_integer(const KernelRequest& request) {
  const Operand& w = required(request, 1);
  if (!Centered::takes(request, 0, 2) || !Centered::takes(request, 1, 3) ||
      request.outputs[0].dtype() != DType::kInt32) {
    return nullptr;
  }
  const ConvolutionRuns runs = convolution_runs(request.attributes(), request.inputs[0].shape(),
                                                w.shape(), request.outputs[0].shape());
  const Centered x(request, 0, 2, {});
  const Centered weight(request, 1, 3, {runs.groups * runs.outputs, runs.inputs * runs.taps});
  return make_kernel(
      [=](const Buffers& b) {
        auto* x_values = reinterpret_cast<std::int32_t*>(b.scratch);
        auto* weights = x_values + x.count();
        x(b, x_values);
        weight(b, weights);
        convolve(runs, x_values, weights, static_cast<const std::int32_t*>(nullptr),
                 output<std::int32_t>(b, 0),
                 [](std::int32_t sum, std::int32_t u, std::int32_t v) { return sum + u * v; });
      },
      (x.count() + weight.count()) * sizeof(std::int32_t));
}

}  // namespace
}  // namespace tare

TARE_KERNEL(conv_integer) {
  return {.ops = {"ConvInteger"}, .make = tare::make_conv_integer};
}
