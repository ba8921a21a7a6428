// One sweep from the outputs finds what is behind all products, and one each way from the
// Concats what belongs to them. Linear in the graph.
#include "graph/operators/detection_head.h"

#include "tare/graph.h"

#include "graph/operators/affine_ops.h"
#include "graph/operators/product.h"

#include <algorithm>
#include <vector>

namespace tare {
namespace {

bool multiplies(const Node& node) {
  return is_product(node) || is_recurrent(node) || node.op == "Loop" || node.op == "Scan" ||
         node.op == "If";
}

/// Nodes from which no product is reached.
std::set<NodeId> behind_products(const Graph& graph, const std::vector<NodeId>& order) {
  std::set<NodeId> result;
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const Node& node = graph.node(*id);
    const bool is_last =
        std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
          const auto& users = graph.users(output);
          return std::all_of(users.begin(), users.end(),
                             [&](NodeId user) { return result.contains(user); });
        });
    if (is_last && !multiplies(node)) {
      result.insert(*id);
    }
  }
  return result;
}

enum class Part { kScores, kBoxes, kNeither };

/// What an operand of a Concat is, once those nodes are passed that only move its elements.
Part part_of(const Graph& graph, ValueId value) {
  for (auto producer = graph.producer(value); producer; producer = graph.producer(value)) {
    const Node& node = graph.node(*producer);
    if (node.op == "Sigmoid" || node.op == "Softmax" || node.op == "HardSigmoid") {
      return Part::kScores;
    }
    const AffineOp* row = find_affine_op(graph, node);
    if (row == nullptr || row->rule != AffineRule::kMoves) {
      return Part::kBoxes;
    }
    value = node.inputs[0];
  }
  return Part::kNeither;
}

bool puts_together(const Graph& graph, const Node& node) {
  if (node.op != "Concat" || graph.type(node.outputs[0]).dtype != DType::kFloat32) {
    return false;
  }
  const auto has = [&](Part part) {
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId input) { return part_of(graph, input) == part; });
  };
  return has(Part::kScores) && has(Part::kBoxes);
}

}  // namespace

std::set<NodeId> detection_head(const Graph& graph) {
  const std::vector<NodeId> order = graph.topological_order();
  const std::set<NodeId> last = behind_products(graph, order);
  std::set<NodeId> before;
  std::set<NodeId> after;
  for (const NodeId id : order) {
    const Node& node = graph.node(id);
    const bool follows =
        std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
          const auto producer = input ? graph.producer(input) : std::nullopt;
          return producer && after.contains(*producer);
        });
    if (last.contains(id) && (follows || puts_together(graph, node))) {
      after.insert(id);
    }
  }
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const Node& node = graph.node(*id);
    const bool leads =
        std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
          const auto& users = graph.users(output);
          return std::any_of(users.begin(), users.end(), [&](NodeId user) {
            return after.contains(user) || before.contains(user);
          });
        });
    if (last.contains(*id) && leads) {
      before.insert(*id);
    }
  }
  before.insert(after.begin(), after.end());
  return before;
}

}  // namespace tare
