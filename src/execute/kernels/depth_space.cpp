#include "tare/error.h"

#include "execute/elements/strided_copy.h"
#include "execute/operands.h"

namespace tare {
namespace {

/// Both operators pair the axes (n, c, h, w, bh, bw) of a wide image [n, c, h bh, w bw] with
/// those of a deep one, whose channels hold the block (bh, bw) before or behind c.
std::unique_ptr<Kernel> make_depth_space(const KernelRequest& request) {
  const bool to_space = request.node->op == "DepthToSpace";
  const Operand& x = required(request, 0);
  const Operand& y = request.outputs[0];
  const Operand& deep = to_space ? x : y;
  const Operand& wide = to_space ? y : x;
  const std::int64_t block = request.attributes().integer("blocksize");
  const std::string mode = to_space ? request.attributes().text("mode", "DCR") : "DCR";
  if (!uniform(request)) {
    return nullptr;
  }
  if (wide.shape().size() != 4 || block < 1 || block > wide.shape()[2] ||
      block > wide.shape()[3] || (mode != "DCR" && mode != "CRD")) {
    throw Error(ErrorCode::kInvalidModel, "",
                "blocksize " + std::to_string(block) + " and mode '" + mode + "' do not suit " +
                    to_string(x.shape()));
  }
  const std::int64_t channels = wide.shape()[1];
  const Shape extents{wide.shape()[0],         channels, wide.shape()[2] / block,
                      wide.shape()[3] / block, block,    block};
  expect_shape(wide, {extents[0], channels, extents[2] * block, extents[3] * block});
  expect_shape(deep, {extents[0], channels * block * block, extents[2], extents[3]});

  const Strides w = wide.strides();
  const Strides d = deep.strides();
  const Walk in_wide{{w[0], w[1], w[2] * block, w[3] * block, w[2], w[3]}};
  const Walk in_deep =
      mode == "DCR" ? Walk{{d[0], d[1], d[2], d[3], d[1] * block * channels, d[1] * channels}}
                    : Walk{{d[0], d[1] * block * block, d[2], d[3], d[1] * block, d[1]}};
  return copy_kernel(
      {x.dtype(), extents, to_space ? in_wide : in_deep, to_space ? in_deep : in_wide});
}

}  // namespace
}  // namespace tare

TARE_KERNEL(depth_space) {
  using namespace tare;
  return {.ops = {"DepthToSpace", "SpaceToDepth"}, .layout = follow, .make = make_depth_space};
}
