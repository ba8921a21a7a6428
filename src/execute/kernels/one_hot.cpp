#include "execute/elements/dispatch.h"
#include "execute/operands.h"

#include <algorithm>

namespace tare {
namespace {

/// The depth is what the shape of the result says.
std::unique_ptr<Kernel> make_one_hot(const KernelRequest& request) {
  const Operand& indices = required(request, 0);
  const Operand& values = required(request, 2);
  const Operand& y = request.outputs[0];
  expect_count(values, 2);
  const std::size_t axis = axis_of(request, -1, y.shape().size());
  Shape shape = indices.shape();
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(std::min(axis, shape.size())),
               y.shape()[axis]);
  expect_shape(y, shape);
  if (values.dtype() != y.dtype()) {
    return nullptr;
  }
  const AxisView view = view_axis(y, axis);
  using IndexTypes = Types<std::int32_t, std::int64_t, float>;
  return dispatch(IndexTypes{}, indices.dtype(), [&]<class I>(Tag<I>) {
    return with_cell(y.dtype(), [&]<class T>(Tag<T>) {
      return make_kernel([view](const Buffers& b) {
        T* to = output<T>(b, 0);
        const auto [off, on] = std::array{input<T>(b, 2)[0], input<T>(b, 2)[1]};
        std::fill_n(to, view.outer * view.extent * view.inner, off);
        const auto depth = static_cast<std::int64_t>(view.extent);
        for (std::size_t i = 0; i < view.outer * view.inner; ++i) {
          const auto index = convert<std::int64_t>(input<I>(b, 0)[i]);
          if (index >= -depth && index < depth) {
            const auto hot = static_cast<std::size_t>(index < 0 ? index + depth : index);
            to[(i / view.inner * view.extent + hot) * view.inner + i % view.inner] = on;
          }
        }
      });
    });
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(one_hot) {
  return {.ops = {"OneHot"}, .make = tare::make_one_hot};
}
