#include "execute/elements/strided_copy.h"
#include "execute/operands.h"

namespace tare {
namespace {

std::unique_ptr<Kernel> make_concat(const KernelRequest& request) {
  const Operand& y = request.outputs[0];
  required(request, 0);
  if (!uniform(request)) {
    return nullptr;
  }
  const std::size_t axis =
      normalized_axis(request.attributes().integer("axis"), y.shape().size());
  std::vector<StridedCopy> copies;
  std::int64_t done = 0;
  for (const Operand& x : request.inputs) {
    Shape shape = y.shape();
    shape[axis] = x.shape().size() > axis ? x.shape()[axis] : 0;
    expect_shape(x, shape);
    copies.emplace_back(y.dtype(), shape, Walk{y.strides(), done * y.strides()[axis]},
                        Walk{x.strides()});
    done += shape[axis];
  }
  Shape shape = y.shape();
  shape[axis] = done;
  expect_shape(y, shape);
  return make_kernel([copies = std::move(copies)](const Buffers& buffers) {
    for (std::size_t i = 0; i < copies.size(); ++i) {
      copies[i](buffers.inputs[i], buffers.outputs[0]);
    }
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(concat) {
  using namespace tare;
  return {.ops = {"Concat"}, .layout = follow, .make = make_concat};
}
