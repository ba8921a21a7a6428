#include "execute/elements/strided_copy.h"
#include "execute/operands.h"

namespace tare {
namespace {

/// The shapes of the results tell where to cut.
std::unique_ptr<Kernel> make_split(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  if (!uniform(request, 1)) {
    return nullptr;
  }
  const std::size_t axis = axis_of(request, 0, x.shape().size());
  std::vector<StridedCopy> copies;
  Shape shape = x.shape();
  std::int64_t done = 0;
  for (const Operand& y : request.outputs) {
    shape[axis] = y.shape().size() > axis ? y.shape()[axis] : 0;
    expect_shape(y, shape);
    copies.emplace_back(x.dtype(), shape, Walk{y.strides()},
                        Walk{x.strides(), done * x.strides()[axis]});
    done += shape[axis];
  }
  shape[axis] = done;
  expect_shape(x, shape);
  return make_kernel([copies = std::move(copies)](const Buffers& buffers) {
    for (std::size_t i = 0; i < copies.size(); ++i) {
      copies[i](buffers.inputs[0], buffers.outputs[i]);
    }
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(split) {
  using namespace tare;
  return {.ops = {"Split"}, .layout = follow, .make = make_split};
}
