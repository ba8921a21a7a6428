// ArgMax, ArgMin and Hardmax of ONNX: one pass along the axis. Storage values serve as they
// are, since scales are positive.
#include "execute/elements/dispatch.h"
#include "execute/operands.h"

#include <algorithm>

namespace tare {
namespace {

/// Calls f(first, position) for every column along the axis: its first element and where in it
/// the winner is, the first or the last of several. NaN never beats a number.
template <class T, class F>
void for_each_winner(const AxisView& view, const T* x, bool largest, bool last, F&& f) {
  for (std::size_t o = 0; o < view.outer; ++o) {
    for (std::size_t i = 0; i < view.inner; ++i) {
      const std::size_t first = o * view.extent * view.inner + i;
      std::size_t best = 0;
      for (std::size_t k = 1; k < view.extent; ++k) {
        const auto value = convert<Compute<T>>(x[first + k * view.inner]);
        const auto champion = convert<Compute<T>>(x[first + best * view.inner]);
        const bool beats = largest ? value > champion : value < champion;
        best = beats || (last && value == champion) ? k : best;
      }
      f(first, best);
    }
  }
}

std::unique_ptr<Kernel> make_hardmax(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  if (!uniform(request)) {
    return nullptr;
  }
  expect_shape(request.outputs[0], x.shape());
  const AxisView view = view_axis(x, axis_of(request, -1, x.shape().size()));
  return dispatch(Floats{}, x.dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([view, count = count_of(x)](const Buffers& b) {
      T* y = output<T>(b, 0);
      std::fill_n(y, count, convert<T>(0.0F));
      for_each_winner(view, input<T>(b, 0), true, false, [&](std::size_t first, std::size_t k) {
        y[first + k * view.inner] = convert<T>(1.0F);
      });
    });
  });
}

std::unique_ptr<Kernel> make_position(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const Operand& y = request.outputs[0];
  const std::size_t axis = axis_of(request, 0, x.shape().size());
  Shape shape = x.shape();
  shape[axis] = 1;
  if (request.attributes().integer("keepdims", 1) == 0) {
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  expect_shape(y, shape);
  if (y.dtype() != DType::kInt64) {
    return nullptr;
  }
  const AxisView view = view_axis(x, axis);
  const bool largest = request.node->op == "ArgMax";
  const bool last = request.attributes().integer("select_last_index", 0) != 0;
  return dispatch(Numbers{}, x.dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([=](const Buffers& b) {
      auto* position = output<std::int64_t>(b, 0);
      for_each_winner(view, input<T>(b, 0), largest, last, [&](std::size_t, std::size_t k) {
        *position++ = static_cast<std::int64_t>(k);
      });
    });
  });
}

std::unique_ptr<Kernel> make_arg_reduce(const KernelRequest& request) {
  return request.node->op == "Hardmax" ? make_hardmax(request) : make_position(request);
}

}  // namespace
}  // namespace tare

TARE_KERNEL(arg_reduce) {
  return {.ops = {"ArgMax", "ArgMin", "Hardmax"}, .make = tare::make_arg_reduce};
}
