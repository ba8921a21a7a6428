// Flattens products and quotients into factors and one coefficient, so that a rule recognizes a
// formula in whatever order an exporter has spelled it. Values read elsewhere are not taken
// apart. Depth and powers are bounded: activation functions need no more.
#include "prepare/product.h"

#include "tare/graph.h"

#include "prepare/constants.h"

#include <algorithm>
#include <cmath>

namespace tare {
namespace {

constexpr int kLargestPower = 3;  // in the polynomial of Gelu
constexpr int kDepthLimit = 16;   // far more than a formula that a rule knows

class Flattener {
 public:
  explicit Flattener(const Graph& graph) : graph_(graph) {}

  Product product;

  void multiply(ValueId id, int depth, bool open) {
    if (const auto number = uniform_constant(graph_, id)) {
      product.coefficient *= *number;
      return;
    }
    const auto producer = graph_.producer(id);
    if (!open || !producer || depth == kDepthLimit || !multiply_node(*producer, depth)) {
      product.factors.push_back(id);
    }
  }

 private:
  bool multiply_node(NodeId id, int depth) {
    const Node& node = graph_.node(id);
    if (node.op == "Mul") {
      descend(node.inputs[0], depth);
      descend(node.inputs[1], depth);
      return true;
    }
    if (node.op == "Neg") {
      product.coefficient = -product.coefficient;
      descend(node.inputs[0], depth);
      return true;
    }
    if (node.op != "Div" && node.op != "Pow") {
      return false;
    }
    const auto number = uniform_constant(graph_, node.inputs[1]);
    if (!number || *number == 0) {
      return false;
    }
    if (node.op == "Div") {
      product.coefficient /= *number;
      descend(node.inputs[0], depth);
      return true;
    }
    if (*number != std::floor(*number) || *number < 1 || *number > kLargestPower) {
      return false;
    }
    for (int i = 0; i < static_cast<int>(*number); ++i) {
      multiply(node.inputs[0], depth + 1, false);
    }
    return true;
  }

  void descend(ValueId id, int depth) { multiply(id, depth + 1, graph_.single_use(id)); }

  const Graph& graph_;
};

}  // namespace

std::optional<ValueId> Product::partner_of(ValueId one) const {
  if (factors.size() != 2 || (factors[0] != one && factors[1] != one)) {
    return std::nullopt;
  }
  return factors[0] == one ? factors[1] : factors[0];
}

Product product_of(const Graph& graph, ValueId id) {
  Flattener flattener(graph);
  flattener.multiply(id, 0, true);
  std::sort(flattener.product.factors.begin(), flattener.product.factors.end());
  return std::move(flattener.product);
}

const Node* computed_by(const Graph& graph, ValueId id, std::string_view op) {
  const auto producer = graph.producer(id);
  if (!producer || graph.node(*producer).op != op) {
    return nullptr;
  }
  return &graph.node(*producer);
}

std::optional<Offset> offset_of(const Graph& graph, ValueId id) {
  const Node* add = computed_by(graph, id, "Add");
  if (add == nullptr) {
    return std::nullopt;
  }
  for (const std::size_t i : {0U, 1U}) {
    if (const auto number = uniform_constant(graph, add->inputs[i])) {
      return Offset{add->inputs[1 - i], *number};
    }
  }
  return std::nullopt;
}

}  // namespace tare
