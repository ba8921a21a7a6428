#include "tare/error.h"

#include "execute/elements/strided_copy.h"
#include "execute/operands.h"

#include <numeric>

namespace tare {
namespace {

std::vector<std::int64_t> permutation(const KernelRequest& request, std::size_t rank) {
  std::vector<std::int64_t> reversed(rank);
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  auto result = request.attributes().integers("perm", reversed);
  auto sorted = result;
  std::sort(sorted.rbegin(), sorted.rend());
  if (sorted != reversed) {
    throw Error(ErrorCode::kInvalidModel, "", "perm " + to_string(result))
        .expected("a permutation of " + std::to_string(rank) + " axes");
  }
  return result;
}

std::unique_ptr<Kernel> make_transpose(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const Operand& y = request.outputs[0];
  if (!uniform(request)) {
    return nullptr;
  }
  const Strides strides = x.strides();
  Shape shape;
  Walk from;
  for (const std::int64_t axis : permutation(request, x.shape().size())) {
    shape.push_back(x.shape()[static_cast<std::size_t>(axis)]);
    from.strides.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  expect_shape(y, shape);
  return copy_kernel({x.dtype(), shape, {y.strides()}, from});
}

}  // namespace
}  // namespace tare

TARE_KERNEL(transpose) {
  return {.ops = {"Transpose"}, .make = tare::make_transpose};
}
