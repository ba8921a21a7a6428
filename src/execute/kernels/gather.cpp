#include "execute/elements/dispatch.h"
#include "execute/operands.h"

#include <cstring>

namespace tare {
namespace {

std::unique_ptr<Kernel> make_gather(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const Operand& indices = required(request, 1);
  if (!uniform(request, 1)) {
    return nullptr;
  }
  const std::size_t axis = axis_of(request, 0, x.shape().size());
  Shape shape = x.shape();
  const auto at = shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(at, indices.shape().begin(), indices.shape().end());
  expect_shape(request.outputs[0], shape);

  const AxisView view = view_axis(x, axis);
  const std::size_t block = view.inner * size_of(x.dtype());
  return dispatch(Indices{}, indices.dtype(), [&]<class I>(Tag<I>) {
    return make_kernel([view, block, count = count_of(indices)](const Buffers& b) {
      const std::byte* from = b.inputs[0];
      std::byte* to = b.outputs[0];
      const auto extent = static_cast<std::int64_t>(view.extent);
      for (std::size_t o = 0; o < view.outer; ++o, from += view.extent * block) {
        for (std::size_t i = 0; i < count; ++i, to += block) {
          const std::int64_t index = checked_index(input<I>(b, 1)[i], extent);
          std::memcpy(to, from + static_cast<std::size_t>(index) * block, block);
        }
      }
    });
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(gather) {
  return {.ops = {"Gather"}, .make = tare::make_gather};
}
