// Finds the scores below a last Softmax or Sigmoid, looking through what only moves elements or
// rounds them. Errors are counted there, as probabilities near 0 and 1 hide them.
#include "graph/operators/scores.h"

#include "graph/operators/affine_ops.h"

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

}  // namespace

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
