// Concat of storage values with other parameters than the result's, as TensorFlow Lite's kernel
// for uint8 brings them there: in float32, halves away from zero.
#include "execute/elements/dispatch.h"
#include "execute/elements/rounding.h"
#include "execute/operands.h"

#include <algorithm>
#include <cmath>

namespace tare {
namespace {

/// One operand in the result's steps, a row of `length` at a time.
struct Part {
  std::size_t length;
  float factor;
  float offset;
};

std::unique_ptr<Kernel> make_concat_rescaled(const KernelRequest& request) {
  const Operand& y = request.outputs[0];
  const auto is_byte = [](const Operand& operand) {
    return operand && operand.type->quant && !operand.type->quant->per_axis() &&
           operand.dtype() == DType::kUint8;
  };
  if (!is_byte(y) || !std::all_of(request.inputs.begin(), request.inputs.end(), is_byte)) {
    return nullptr;
  }
  const QuantParams& to = *y.type->quant;
  const std::size_t axis = axis_of(request, 0, y.shape().size());
  std::vector<Part> parts;
  Shape shape = y.shape();
  shape[axis] = 0;
  for (const Operand& x : request.inputs) {
    const AxisView view = view_axis(x, axis);
    const float factor = finite_factor(x.type->quant->scale[0] * (1.0F / to.scale[0]));
    parts.push_back({view.extent * view.inner, factor,
                     -static_cast<float>(x.type->quant->zero_point[0]) * factor});
    shape[axis] += static_cast<std::int64_t>(view.extent);
  }
  expect_shape(y, shape);
  return make_kernel([parts, outer = view_axis(y, axis).outer,
                      zero = to.zero_point[0]](const Buffers& buffers) {
    auto* result = output<std::uint8_t>(buffers, 0);
    for (std::size_t row = 0; row < outer; ++row) {
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const Part& part = parts[i];
        const auto* from = input<std::uint8_t>(buffers, i) + row * part.length;
        result = std::transform(from, from + part.length, result, [&](std::uint8_t q) {
          const float x = static_cast<float>(q) * part.factor + part.offset;
          return static_cast<std::uint8_t>(std::clamp<std::int64_t>(rounded(x) + zero, 0, 255));
        });
      }
    }
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(concat_rescaled) {
  using namespace tare;
  return {.ops = {"Concat"},
          .layout = follow,
          .make = make_concat_rescaled,
          .for_storage = true,
          .numerics = {Numerics::kTfliteRef, Numerics::kTfliteBuiltin, Numerics::kTfliteXnn}};
}
