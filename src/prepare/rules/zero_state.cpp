// LSTM(x, W, R, B, lengths, zeros, zeros) -> LSTM(x, W, R, B, lengths)
//
// States start at 0 where none are given. Exporters make zeros of the batch's size, which
// takes as many nodes as the rest of a small network.
#include "tare/graph.h"
#include "tare/pattern.h"

#include "prepare/constants.h"
#include "prepare/recurrent_layer.h"

#include <algorithm>

namespace tare {
namespace {

/// Operands that are initial states.
constexpr std::size_t kFirstState = 5;
constexpr std::size_t kLastState = 6;

bool has_state(const Graph&, const Node& node) {
  return node.inputs.size() > kFirstState &&
         std::any_of(node.inputs.begin() + kFirstState,
                     node.inputs.begin() + static_cast<std::ptrdiff_t>(
                                               std::min(node.inputs.size(), kLastState + 1)),
                     [](ValueId state) { return static_cast<bool>(state); });
}

std::variant<Patch, Refusal> leave_out_zeros(const Graph& graph, const Match& match) {
  const Node& node = graph.node(match.root());
  std::vector<ValueId> operands = node.inputs;
  bool changed = false;
  for (std::size_t i = kFirstState; i < std::min(operands.size(), kLastState + 1); ++i) {
    if (operands[i] && is_zero(graph, operands[i])) {
      operands[i] = {};
      changed = true;
    }
  }
  if (!changed) {
    return Refusal{"its states do not start at 0"};
  }
  while (!operands.back()) {
    operands.pop_back();
  }
  Patch patch(graph);
  (void)replace_layer(patch, graph, node, std::move(operands), node.outputs.size());
  return patch;
}

}  // namespace
}  // namespace tare

TARE_RULE(zero_state) {
  using namespace tare;
  return {.name = "zero_state",
          .summary = "leaves out initial states of recurrent layers that are 0",
          .benefit = 90,
          .pattern =
              [] {
                return op_of({"GRU", "LSTM", "RNN"}).where(has_state, "has an initial state");
              },
          .rewrite = leave_out_zeros};
}
