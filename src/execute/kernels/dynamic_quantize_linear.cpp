// DynamicQuantizeLinear of ONNX: the range of the operand, widened to hold 0, then quantization
// to uint8 by it. Two passes over the values.
#include "execute/elements/dynamic_range.h"
#include "execute/operands.h"

namespace tare {
namespace {

void run(std::size_t count, const Buffers& b) {
  const float* x = input<float>(b, 0);
  const DynamicRange range(x, count);
  for (std::size_t i = 0; i < count; ++i) {
    output<std::uint8_t>(b, 0)[i] = range.storage(x[i]);
  }
  *output<float>(b, 1) = range.scale();
  *output<std::uint8_t>(b, 2) = range.zero();
}

std::unique_ptr<Kernel> make_dynamic_quantize_linear(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  if (x.dtype() != DType::kFloat32 || request.outputs.at(0).dtype() != DType::kUint8 ||
      request.outputs.at(1).dtype() != DType::kFloat32 ||
      request.outputs.at(2).dtype() != DType::kUint8) {
    return nullptr;
  }
  expect_shape(request.outputs[0], x.shape());
  expect_shape(request.outputs[1], {});
  expect_shape(request.outputs[2], {});
  return make_kernel([count = count_of(x)](const Buffers& b) { run(count, b); });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(dynamic_quantize_linear) {
  return {.ops = {"DynamicQuantizeLinear"}, .make = tare::make_dynamic_quantize_linear};
}
