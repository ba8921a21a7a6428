// Windows of ONNX for Fourier transforms, which are sums of cosines: HannWindow, HammingWindow
// and BlackmanWindow.
#include "execute/elements/dispatch.h"
#include "execute/elements/wider_types.h"
#include "execute/operands.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace tare {
namespace {

/// first - second * cos(2 pi i / n) + third * cos(4 pi i / n)
struct Window {
  const char* op;
  double first;
  double second;
  double third;
};

constexpr std::array kWindows{Window{"HannWindow", 0.5, 0.5, 0},
                              Window{"HammingWindow", 25.0 / 46, 21.0 / 46, 0},
                              Window{"BlackmanWindow", 0.42, 0.5, 0.08}};

std::unique_ptr<Kernel> make_windows(const KernelRequest& request) {
  const auto* const window =
      std::find_if(kWindows.begin(), kWindows.end(),
                   [&](const Window& each) { return each.op == request.node->op; });
  const Operand& y = request.outputs[0];
  expect_count(required(request, 0), 1);
  expect_shape(y, {request.integers(0)[0]});
  const std::size_t count = count_of(y);
  const bool is_periodic = request.attributes().integer("periodic", 1) != 0;
  // A symmetric window of one element has no period; it gets the first element of any.
  const double period =
      static_cast<double>(is_periodic ? count : std::max<std::size_t>(count, 2) - 1);
  return dispatch(WideNumbers{}, y.dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([=, shape = *window](const Buffers& buffers) {
      for (std::size_t i = 0; i < count; ++i) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(i) / period;
        output<T>(buffers, 0)[i] = convert<T>(shape.first - shape.second * std::cos(angle) +
                                              shape.third * std::cos(2 * angle));
      }
    });
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(windows) {
  using namespace tare;
  KernelInfo info{.ops = {}, .make = [](const KernelRequest& request) {
                    return make_wide(request, make_windows);
                  }};
  for (const Window& window : kWindows) {
    info.ops.emplace_back(window.op);
  }
  return info;
}
