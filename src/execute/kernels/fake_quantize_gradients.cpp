// FakeQuantizeGradient(dY, X, P) and FakeQuantizeParameterGradient(dY, X, P): what FakeQuantize
// gives back to its operand and to its parameters P, for learning. Rounding is passed straight
// through; outside of the range nothing passes, and the step learns by how far each value is
// rounded or cut off (Esser et al., "Learned Step Size Quantization", 2020, equation 3). The
// two ends of the storage range are not learned.
#include "execute/elements/elementwise.h"
#include "execute/elements/rounding.h"

namespace tare {
namespace {

struct Grid {
  float scale;
  float zero;
  float low;
  float high;

  explicit Grid(const float* parameters)
      : scale(parameters[0]), zero(parameters[1]), low(parameters[2]), high(parameters[3]) {}
};

void pass_inside(std::size_t count, const Buffers& b) {
  const float* dy = input<float>(b, 0);
  const float* x = input<float>(b, 1);
  float* dx = output<float>(b, 0);
  const Grid grid(input<float>(b, 2));
  if (grid.scale == 0) {
    std::copy_n(dy, count, dx);
    return;
  }
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) {
    const float q = std::rint(x[i] / grid.scale) + grid.zero;
    dx[i] = q < grid.low || q > grid.high ? 0 : dy[i];
  }
}

void learn_parameters(std::size_t count, const Buffers& b) {
  const float* dy = input<float>(b, 0);
  const float* x = input<float>(b, 1);
  float* result = output<float>(b, 0);
  const Grid grid(input<float>(b, 2));
  double of_scale = 0;
  double of_zero = 0;
  constexpr std::size_t kRow = 1024;  // partial sums in float, for vector code
  for (std::size_t first = 0; first < count && grid.scale != 0; first += kRow) {
    const std::size_t end = std::min(count, first + kRow);
    float steps = 0;
    float cut = 0;
#pragma omp simd reduction(+ : steps, cut)
    for (std::size_t i = first; i < end; ++i) {
      const float real = x[i] / grid.scale;
      const float whole = std::rint(real);
      const float q = whole + grid.zero;
      const bool below = q < grid.low;
      const bool above = q > grid.high;
      const float inside = whole - real;
      const float outside = (below ? grid.low : grid.high) - grid.zero;
      steps += dy[i] * (below || above ? outside : inside);
      cut += below || above ? dy[i] : 0;
    }
    of_scale += static_cast<double>(steps);
    of_zero -= static_cast<double>(cut) * static_cast<double>(grid.scale);
  }
  result[0] = static_cast<float>(of_scale);
  result[1] = static_cast<float>(of_zero);
  result[2] = 0;
  result[3] = 0;
}

std::unique_ptr<Kernel> make_fake_quantize_gradient(const KernelRequest& request) {
  const Operand& x = required(request, 1);
  expect_shape(required(request, 0), x.shape());
  expect_count(required(request, 2), 4);
  if (!all_f32(request)) {
    return nullptr;
  }
  const bool of_parameters = request.node->op == "FakeQuantizeParameterGradient";
  expect_shape(request.outputs[0], of_parameters ? Shape{4} : x.shape());
  return make_kernel([count = count_of(x), of_parameters](const Buffers& b) {
    of_parameters ? learn_parameters(count, b) : pass_inside(count, b);
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(fake_quantize_gradients) {
  using namespace tare;
  return {.ops = {"FakeQuantizeGradient", "FakeQuantizeParameterGradient"},
          .layout =
              [](const KernelRequest& request) {
                return request.node->op == "FakeQuantizeGradient"
                           ? LayoutRule::kFollow
                           : LayoutRule::kOperandsChannelsLast;
              },
          .make = make_fake_quantize_gradient};
}
