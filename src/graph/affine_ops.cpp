#include "graph/affine_ops.h"

#include <algorithm>
#include <array>

namespace tare {
namespace {

constexpr auto kMoves = AffineRule::kMoves;
constexpr auto kRounds = AffineRule::kRounds;

// clang-format off: a table reads best as one
constexpr std::array kAffineOps{
    AffineOp{"Add", kRounds, true, "adds expressed values and rounds once"},
    AffineOp{"AveragePool", kRounds, false, "sums storage values, divides and rounds once"},
    AffineOp{"Clip", AffineRule::kClamps, false,
             "keeps order; saturates at two rounded bounds"},
    AffineOp{"Concat", kRounds, true, "brings each operand to the result's parameters"},
    AffineOp{"DepthToSpace", kMoves, false, "moves elements"},
    AffineOp{"Flatten", kMoves, false, "moves elements"},
    AffineOp{"Gather", kMoves, false, "moves elements"},
    AffineOp{"GlobalAveragePool", kRounds, false,
             "sums storage values, divides and rounds once"},
    AffineOp{"MaxPool", kMoves, false, "picks by order, and scales are positive"},
    AffineOp{"Mul", kRounds, true, "multiplies expressed values and rounds once"},
    AffineOp{"Pad", kMoves, false, "moves elements; real 0, the usual padding, is exact"},
    AffineOp{"Relu", AffineRule::kRectifies, false,
             "max with the zero point, where real 0 is exact"},
    AffineOp{"Reshape", kMoves, false, "moves elements"},
    AffineOp{"Sigmoid", kRounds, false, "one result for each storage value"},
    AffineOp{"Slice", kMoves, false, "moves elements"},
    AffineOp{"SpaceToDepth", kMoves, false, "moves elements"},
    AffineOp{"Split", kMoves, false, "moves elements"},
    AffineOp{"Squeeze", kMoves, false, "moves elements"},
    AffineOp{"Sub", kRounds, true, "subtracts expressed values and rounds once"},
    AffineOp{"Transpose", kMoves, false, "moves elements"},
    AffineOp{"Unsqueeze", kMoves, false, "moves elements"},
};
// clang-format on

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
