#include "tare/error.h"

#include "execute/elements/strided_copy.h"
#include "execute/operands.h"

namespace tare {
namespace {

std::unique_ptr<Kernel> make_broadcast(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const Operand& y = request.outputs[0];
  return copy_kernel({x.dtype(), y.shape(), {y.strides()}, {broadcast_strides(x, y)}});
}

/// Every axis becomes two loops: over the repeats and within one.
std::unique_ptr<Kernel> make_tile(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const Operand& y = request.outputs[0];
  Shape extents;
  Walk to;
  Walk from;
  bool fits = x.shape().size() == y.shape().size();
  for (std::size_t axis = 0; fits && axis < x.shape().size(); ++axis) {
    const std::int64_t inside = x.shape()[axis];
    const std::int64_t whole = y.shape()[axis];
    fits = inside == 0 ? whole == 0 : whole % inside == 0;
    extents.insert(extents.end(), {inside == 0 ? 0 : whole / inside, inside});
    to.strides.insert(to.strides.end(), {inside * y.strides()[axis], y.strides()[axis]});
    from.strides.insert(from.strides.end(), {0, x.strides()[axis]});
  }
  if (!fits) {
    throw Error(ErrorCode::kInvalidModel, "",
                to_string(y.shape()) + " is no tiling with " + to_string(x.shape()));
  }
  return copy_kernel({x.dtype(), extents, to, from});
}

std::unique_ptr<Kernel> make_expand(const KernelRequest& request) {
  if (!uniform(request, 1)) {
    return nullptr;
  }
  return request.node->op == "Tile" ? make_tile(request) : make_broadcast(request);
}

}  // namespace
}  // namespace tare

TARE_KERNEL(expand) {
  using namespace tare;
  return {.ops = {"Expand", "Tile"}, .layout = follow, .make = make_expand};
}
