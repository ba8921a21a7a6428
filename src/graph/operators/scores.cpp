// Finds the scores below a last Softmax or Sigmoid, looking through what only moves elements or
// rounds them. Errors are counted there, as probabilities near 0 and 1 hide them.
#include "graph/operators/scores.h"

#include "tare/graph.h"

#include "graph/operators/affine_ops.h"

#include <algorithm>

namespace tare {
namespace {

/// What the value is computed from, once those nodes are passed that only move its elements.
ValueId moved_from(const Graph& graph, ValueId value) {
  for (auto producer = graph.producer(value); producer; producer = graph.producer(value)) {
    const Node& node = graph.node(*producer);
    const AffineOp* row = find_affine_op(graph, node);
    if (node.op != "FakeQuantize" && (row == nullptr || row->rule != AffineRule::kMoves)) {
      break;
    }
    value = node.inputs[0];
  }
  return value;
}

bool makes_probabilities(const Node& node) {
  return node.op == "Softmax" || node.op == "LogSoftmax" || node.op == "Sigmoid";
}

/// Whether nothing reads the value but Softmax, through operators that move it.
bool only_softmax_reads(const Graph& graph, ValueId value) {
  const auto users = graph.users(value);
  return !users.empty() && !graph.is_output(value) &&
         std::all_of(users.begin(), users.end(), [&](NodeId id) {
           const Node& node = graph.node(id);
           const AffineOp* row = find_affine_op(graph, node);
           return node.op == "Softmax" || (row != nullptr && row->rule == AffineRule::kMoves &&
                                           only_softmax_reads(graph, node.outputs[0]));
         });
}

}  // namespace

bool is_masked_score(const Graph& graph, ValueId value) {
  const auto producer = graph.producer(value);
  if (!producer) {
    return false;
  }
  const std::string& op = graph.node(*producer).op;
  return (op == "Add" || op == "Where") && only_softmax_reads(graph, value);
}

Graph up_to_scores(Graph graph) {
  std::vector<ValueId> outputs(graph.outputs().begin(), graph.outputs().end());
  for (ValueId& output : outputs) {
    const auto producer = graph.producer(moved_from(graph, output));
    if (producer && makes_probabilities(graph.node(*producer))) {
      output = graph.node(*producer).inputs[0];
    }
  }
  graph.set_outputs(outputs);
  graph.erase_unused();
  return graph;
}

}  // namespace tare
