// Rounds real values to those that storage values express, with parameters that are operands:
// scale, zero point and the two ends of the storage range. Scale 0 passes values through.
#include "execute/elements/elementwise.h"
#include "execute/elements/rounding.h"

namespace tare {
namespace {

std::unique_ptr<Kernel> make_fake_quantize(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  expect_shape(request.outputs[0], x.shape());
  expect_count(required(request, 1), 4);
  if (!all_f32(request)) {
    return nullptr;
  }
  return make_kernel([count = count_of(x)](const Buffers& b) {
    const float* parameters = input<float>(b, 1);
    const float scale = parameters[0];
    const float zero = parameters[1];
    const float low = parameters[2];
    const float high = parameters[3];
    if (scale == 0) {
      map_elements(input<float>(b, 0), output<float>(b, 0), count, [](float v) { return v; });
      return;
    }
    map_elements(input<float>(b, 0), output<float>(b, 0), count, [=](float v) {
      return (storage_value(v / scale, zero, low, high) - zero) * scale;
    });
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(fake_quantize) {
  using namespace tare;
  return {
      .ops = {"FakeQuantize"}, .layout = follow, .make = make_fake_quantize, .in_place = true};
}
