// PRelu of storage values with storage values for slopes, as TensorFlow Lite computes it.
#include "execute/elements/dispatch.h"
#include "execute/elements/nested_loops.h"
#include "graph/arithmetic/rescale.h"

#include <algorithm>

namespace tare {
namespace {

std::unique_ptr<Kernel> make_integer_prelu(const KernelRequest& request) {
  const Operand& y = request.outputs[0];
  const auto is_stored = [&](const Operand& operand) {
    return operand && operand.type->quant && !operand.type->quant->per_axis() &&
           operand.dtype() == y.dtype();
  };
  if (request.inputs.size() != 2 || !is_stored(request.inputs[0]) ||
      !is_stored(request.inputs[1]) || !is_stored(y)) {
    return nullptr;
  }
  const QuantParams& from = *request.inputs[0].type->quant;
  const QuantParams& slope = *request.inputs[1].type->quant;
  const QuantParams& to = *y.type->quant;
  const FixedPointFactor above =
      fixed_point_factor(static_cast<double>(from.scale[0] / to.scale[0]));
  const FixedPointFactor below =
      fixed_point_factor(static_cast<double>(from.scale[0] * slope.scale[0] / to.scale[0]));
  const auto loops = broadcast_loops(y, request.inputs[0], request.inputs[1]);
  return dispatch(Types<std::int8_t, std::uint8_t>{}, y.dtype(), [&]<class Q>(Tag<Q>) {
    return make_kernel([=, zero = from.zero_point[0], zero_slope = slope.zero_point[0],
                        zero_to = to.zero_point[0], range = to.range()](const Buffers& b) {
      const Q* x = input<Q>(b, 0);
      const Q* slopes = input<Q>(b, 1);
      Q* result = output<Q>(b, 0);
      const auto n = static_cast<std::int64_t>(loops.row_length());
      loops.for_each_row([&](const auto& at) {
        for (std::int64_t i = 0; i < n; ++i) {
          const std::int32_t value = x[at[1] + i * loops.row_stride(1)] - zero;
          const std::int32_t factor = slopes[at[2] + i * loops.row_stride(2)] - zero_slope;
          const std::int64_t scaled =
              value >= 0 ? rescale_twice(value, above) : rescale_twice(value * factor, below);
          result[at[0] + i * loops.row_stride(0)] =
              static_cast<Q>(std::clamp(scaled + zero_to, range.low, range.high));
        }
      });
    });
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(integer_prelu) {
  using namespace tare;
  return {.ops = {"PRelu"},
          .layout = [](const KernelRequest&) { return LayoutRule::kFollow; },
          .make = make_integer_prelu,
          .for_storage = true,
          .numerics = {Numerics::kTfliteRef, Numerics::kTfliteBuiltin, Numerics::kTfliteXnn}};
}
