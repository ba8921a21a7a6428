// DynamicQuantizeLinear of ONNX: the range of the operand, widened to hold 0, then quantization
// to uint8 by it. Two passes over the values.
#include "execute/elements/fixed_point.h"
#include "execute/elements/row_reduce.h"
#include "execute/operands.h"

#include <algorithm>

namespace tare {
namespace {

void run(std::size_t count, const Buffers& b) {
  const float* x = input<float>(b, 0);
  const auto smaller = [](float a, float v) { return v < a ? v : a; };
  const auto larger = [](float a, float v) { return v > a ? v : a; };
  // The range always holds 0, which must stay exact.
  const float low = reduce_row(x, count, 0.0F, smaller, smaller);
  const float high = reduce_row(x, count, 0.0F, larger, larger);
  const float scale = high > low ? (high - low) / 255.0F : 1.0F;
  const auto zero = round_to_storage<std::uint8_t>(-low / scale, 0);
  for (std::size_t i = 0; i < count; ++i) {
    output<std::uint8_t>(b, 0)[i] = round_to_storage<std::uint8_t>(x[i] / scale, zero);
  }
  *output<float>(b, 1) = scale;
  *output<std::uint8_t>(b, 2) = zero;
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
