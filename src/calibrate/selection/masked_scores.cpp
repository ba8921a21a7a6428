// Masked attention scores. Networks add a large negative number, such as -10,000, to the scores
// of positions that are to get no attention. A range that holds it leaves a few steps of 8 bits
// to the scores themselves. But softmax gives positions a share of exp(score - largest score):
// what is ln(2 * 256 * n) below the lowest score that is not masked gets less than half a step
// of 8 bits, even if all n positions of a row lie there. So ranges may end there, and
// saturating quantization does the masking. The scores without the mask have ranges of their
// own, as they are an operand of what adds it.
#include "calibrate/selection/masked_scores.h"

#include "tare/graph.h"
#include "tare/simulate.h"

#include "graph/operators/affine_ops.h"
#include "graph/operators/scores.h"

#include <algorithm>
#include <cmath>

namespace tare {
namespace {

/// What the samples showed of a value that is a point, before operators that move it too.
std::optional<Range> observed_range(const SimulatedGraph& simulated, ValueId value,
                                    const QuantTable& decided) {
  for (;;) {
    const auto found = decided.find(simulated.source.name(value));
    if (found != decided.end() && !found->second.observed.empty()) {
      return found->second.observed[0];
    }
    const auto producer = simulated.source.producer(value);
    if (!producer) {
      return std::nullopt;
    }
    const Node& node = simulated.source.node(*producer);
    const AffineOp* row = find_affine_op(simulated.source, node);
    if (row == nullptr || row->rule != AffineRule::kMoves) {
      return std::nullopt;
    }
    value = node.inputs[0];
  }
}

}  // namespace

std::optional<double> lowest_score(const SimulatedGraph& simulated, const QuantPoint& point,
                                   const QuantTable& decided) {
  const Graph& graph = simulated.source;
  if (!is_masked_score(graph, point.value)) {
    return std::nullopt;
  }
  const Node& node = graph.node(*graph.producer(point.value));
  const bool is_sum = node.op == "Add";
  const auto a = observed_range(simulated, node.inputs[is_sum ? 0 : 1], decided);
  const auto b = observed_range(simulated, node.inputs[is_sum ? 1 : 2], decided);
  if (!a || !b) {
    return std::nullopt;
  }
  const Range& scores = a->low > b->low ? *a : *b;
  const Range& mask = a->low > b->low ? *b : *a;
  const double lowest = scores.low + (is_sum ? mask.high : 0);
  const Shape& shape = graph.type(point.value).shape;
  const double positions = shape.empty() ? 1 : static_cast<double>(shape.back());
  const StorageRange storage = storage_range(point.spec.storage, false);
  const auto levels = static_cast<double>(storage.high - storage.low + 1);
  return lowest - std::log(2 * levels * std::max(positions, 1.0));
}

}  // namespace tare
