// TensorFlow Lite averages the integers as they are stored, zero point and all, and rounds
// halves away from 0 (docs/decisions/0020-averages-have-a-tie-breaking-point.md). All of its
// kernels do, so averages of an imported model say it. An average with only moves around it
// keeps ONNX's rounding: in a file nothing would tell its parameters.

#include "tare/graph.h"
#include "tare/integer_graph.h"

#include "graph/arithmetic/node_arithmetic.h"
#include "graph/operators/affine_ops.h"
#include "lower/integer_averages.h"

#include <set>
#include <vector>

namespace tare {
namespace {

bool moves(const Graph& graph, NodeId id) {
  const AffineOp* row = find_affine_op(graph, graph.node(id));
  return row != nullptr && row->rule == AffineRule::kMoves;
}

/// Whether another operator computes or reads what it averages, or what came of that, moved or
/// not. In a file that one has the parameters.
bool has_neighbour(const Graph& graph, NodeId average) {
  const Node& node = graph.node(average);
  std::set<ValueId> visited{node.inputs[0], node.outputs[0]};
  std::vector<ValueId> open(visited.begin(), visited.end());
  const auto visit = [&](ValueId value) {
    if (visited.insert(value).second) {
      open.push_back(value);
    }
  };
  while (!open.empty()) {
    const ValueId value = open.back();
    open.pop_back();
    std::vector<NodeId> around = graph.users(value);
    if (const auto producer = graph.producer(value)) {
      around.push_back(*producer);
    }
    for (const NodeId id : around) {
      if (id == average) {
        continue;
      }
      if (!moves(graph, id)) {
        return true;
      }
      visit(graph.node(id).inputs[0]);
      for (const ValueId result : graph.node(id).outputs) {
        visit(result);
      }
    }
  }
  return false;
}

}  // namespace

bool may_average_integers(const Graph& graph, const Node& node) {
  if (node.op != "AveragePool") {
    return false;
  }
  const auto& operand = graph.type(node.inputs[0]).quant;
  return operand && operand == graph.type(node.outputs[0]).quant &&
         size_of(operand->storage) == 1 && node.attributes.integer("count_include_pad", 0) == 0;
}

void average_integers(Graph& graph, NodeId id) {
  Attributes attributes = graph.node(id).attributes;
  set_numerics(attributes, Numerics::kOnnxRuntime);
  set_tie_breaking_point(attributes, tie_breaking_point(attributes).value_or(0));
  graph.set_attributes(id, attributes);
}

Graph with_tflite_averages(Graph integer) {
  for (const NodeId id : integer.nodes()) {
    if (may_average_integers(integer, integer.node(id)) && has_neighbour(integer, id)) {
      average_integers(integer, id);
    }
  }
  return integer;
}

}  // namespace tare
