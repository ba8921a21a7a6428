// CumSum of ONNX, element after element along the axis.
#include "execute/elements/dispatch.h"
#include "execute/operands.h"

namespace tare {
namespace {

std::unique_ptr<Kernel> make_cum_sum(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  if (!uniform(request, 1)) {
    return nullptr;
  }
  expect_shape(request.outputs[0], x.shape());
  const auto axis = request.integers(1);
  const AxisView view = view_axis(x, normalized_axis(axis.at(0), x.shape().size()));
  const bool exclusive = request.attributes().integer("exclusive", 0) != 0;
  const bool reverse = request.attributes().integer("reverse", 0) != 0;
  using Summable =
      Types<float, double, std::int32_t, std::int64_t, std::uint32_t, std::uint64_t>;
  return dispatch(Summable{}, x.dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([=](const Buffers& b) {
      // Integers wrap around.
      using Sum = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
      for (std::size_t i = 0; i < view.outer * view.inner; ++i) {
        const std::size_t first = i / view.inner * view.extent * view.inner + i % view.inner;
        Sum sum = 0;
        for (std::size_t k = 0; k < view.extent; ++k) {
          const std::size_t step = reverse ? view.extent - 1 - k : k;
          const std::size_t at = first + step * view.inner;
          const Sum before = sum;
          sum += static_cast<Sum>(input<T>(b, 0)[at]);
          output<T>(b, 0)[at] = static_cast<T>(exclusive ? before : sum);
        }
      }
    });
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(cum_sum) {
  using namespace tare;
  return {.ops = {"CumSum"}, .layout = follow, .make = make_cum_sum};
}
