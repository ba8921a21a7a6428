// Which elements of an operand fall to which result of a reduction, as strides: a reduced axis
// has stride 0 in the result. Loops are merged by NestedLoops, so a reduction over inner axes
// is one over long rows, and one over outer axes adds rows to a row.
#include "execute/elements/reduction.h"

#include <vector>

namespace tare {
namespace {

bool keeps_axes(const KernelRequest& request) {
  return request.attributes().integer("keepdims", 1) != 0;
}

std::vector<bool> reduced_axes(const KernelRequest& request, std::size_t rank) {
  const Attributes& attributes = request.attributes();
  const auto axes = request.has_input(1)
                        ? request.integers(1)
                        : attributes.integers("axes", std::vector<std::int64_t>());
  const bool all = axes.empty() && attributes.integer("noop_with_empty_axes", 0) == 0;
  std::vector<bool> reduced(rank, all);
  for (const std::int64_t axis : axes) {
    reduced[normalized_axis(axis, rank)] = true;
  }
  return reduced;
}

}  // namespace

Reduction make_reduction(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  Operand y = request.outputs[0];
  const auto reduced = reduced_axes(request, x.shape().size());
  TensorType kept = *x.type;
  Shape dropped;
  for (std::size_t axis = 0; axis < reduced.size(); ++axis) {
    if (reduced[axis]) {
      kept.shape[axis] = 1;
    } else {
      dropped.push_back(x.shape()[axis]);
    }
  }
  expect_shape(y, keeps_axes(request) ? kept.shape : dropped);
  y.type = &kept;
  Strides strides = y.strides();
  for (std::size_t axis = 0; axis < reduced.size(); ++axis) {
    strides[axis] = reduced[axis] ? 0 : strides[axis];
  }
  const std::int64_t results = element_count(kept.shape);
  return {{x.shape(), {x.strides(), strides}},
          static_cast<std::size_t>(results),
          results == 0 ? 0 : element_count(x.shape()) / results};
}

LayoutRule reduction_layout(const KernelRequest& request) {
  return keeps_axes(request) ? LayoutRule::kFollow : LayoutRule::kPlain;
}

}  // namespace tare
