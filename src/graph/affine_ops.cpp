#include "graph/affine_ops.h"

#include <algorithm>
#include <array>

namespace tare {
namespace {

constexpr auto kSame = AffineRule::kSameParams;
constexpr auto kOwn = AffineRule::kOwnParams;

constexpr std::array kAffineOps{
    AffineOp{"AveragePool", kOwn, false, false, "sums storage values, divides and rounds once"},
    AffineOp{"Add", kOwn, true, false, "adds expressed values and rounds once"},
    AffineOp{"Clip", kSame, false, false,
             "order-preserving; bounds are rounded like any value"},
    AffineOp{"Concat", kOwn, true, false, "each operand is brought to the result's parameters"},
    AffineOp{"DepthToSpace", kSame, false, true, "moves elements"},
    AffineOp{"Flatten", kSame, false, true, "moves elements"},
    AffineOp{"Gather", kSame, false, true, "moves elements"},
    AffineOp{"GlobalAveragePool", kOwn, false, false,
             "sums storage values, divides and rounds once"},
    AffineOp{"MaxPool", kSame, false, true, "picks by order, and scales are positive"},
    AffineOp{"Mul", kOwn, true, false, "multiplies expressed values and rounds once"},
    AffineOp{"Pad", kSame, false, true,
             "moves elements; the padding value is rounded like any other"},
    AffineOp{"Relu", kSame, false, false, "max with the zero point, where real 0 is exact"},
    AffineOp{"Reshape", kSame, false, true, "moves elements"},
    AffineOp{"Sigmoid", kOwn, false, false, "a table with one entry per storage value"},
    AffineOp{"Slice", kSame, false, true, "moves elements"},
    AffineOp{"SpaceToDepth", kSame, false, true, "moves elements"},
    AffineOp{"Split", kSame, false, true, "moves elements"},
    AffineOp{"Squeeze", kSame, false, true, "moves elements"},
    AffineOp{"Sub", kOwn, true, false, "subtracts expressed values and rounds once"},
    AffineOp{"Transpose", kSame, false, true, "moves elements"},
    AffineOp{"Unsqueeze", kSame, false, true, "moves elements"},
};

}  // namespace

std::span<const AffineOp> affine_ops() {
  return kAffineOps;
}

const AffineOp* find_affine_op(std::string_view op) {
  const auto* found = std::find_if(kAffineOps.begin(), kAffineOps.end(),
                                   [&](const AffineOp& row) { return row.op == op; });
  return found == kAffineOps.end() ? nullptr : found;
}

}  // namespace tare
