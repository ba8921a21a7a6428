// Clip of storage values that stay what they are although the result has other parameters, with
// bounds in steps of the operand: what the port of TensorFlow Lite for microcontrollers does
// for RELU6. With equal parameters it is any other Clip.
#include "execute/dispatch.h"
#include "execute/operands.h"

#include <algorithm>

namespace tare {
namespace {

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const Operand& y = request.outputs[0];
  if (!x.type->quant || !y.type->quant || x.type->quant->per_axis() || x.dtype() != y.dtype()) {
    return nullptr;
  }
  expect_shape(y, x.shape());
  const QuantParams& params = *x.type->quant;
  StorageRange bounds = params.range();
  for (const std::size_t i : {1U, 2U}) {
    if (request.has_input(i)) {
      const Tensor* real = request.inputs[i].constant;
      if (real == nullptr || real->size() != 1) {
        return nullptr;
      }
      (i == 1 ? bounds.low : bounds.high) = quantize(*real, params).to_int64()[0];
    }
  }
  return dispatch(Types<std::int8_t, std::uint8_t>{}, x.dtype(), [&]<class Q>(Tag<Q>) {
    return make_kernel([=, count = count_of(x)](const Buffers& buffers) {
      const Q* from = input<Q>(buffers, 0);
      std::transform(from, from + count, output<Q>(buffers, 0), [&](Q q) {
        return std::clamp(q, static_cast<Q>(bounds.low), static_cast<Q>(bounds.high));
      });
    });
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(clip_storage) {
  using namespace tare;
  return {.ops = {"Clip"},
          .layout = follow,
          .make = make,
          .in_place = true,
          .for_storage = true,
          .numerics = {Numerics::kTfliteRef}};
}
