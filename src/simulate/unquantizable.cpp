// Finds values that no range can hold: those that infinities reach, and empty ones. Infinite
// constants are followed forward through the graph, past whatever does not stop them; a Softmax
// does, and so does a Clip. One sweep, and one pass over each constant.
#include "simulate/unquantizable.h"

#include "tare/graph.h"

#include "graph/arithmetic/magnitude.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <span>
#include <string_view>

namespace tare {
namespace {

/// Constants of these say where values end, and an infinite one that they do not.
constexpr std::array<std::string_view, 3> kLimiting{"Clip", "Max", "Min"};
/// Results of these are finite for operands that are not; of maxima as some elements are.
constexpr std::array<std::string_view, 9> kFinite{"Clip",        "Exp",     "GlobalMaxPool",
                                                  "HardSigmoid", "MaxPool", "ReduceMax",
                                                  "Sigmoid",     "Softmax", "Tanh"};

bool is_one_of(std::string_view op, std::span<const std::string_view> ops) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

class Search {
 public:
  explicit Search(const Graph& graph) : graph_(graph) {}

  std::map<ValueId, std::string> run() {
    for (const NodeId id : graph_.topological_order()) {
      examine(graph_.node(id));
    }
    return std::move(found_);
  }

 private:
  void examine(const Node& node) {
    for (const ValueId operand : node.inputs) {
      if (operand && holds_infinity(node, operand)) {
        found_.emplace(node.outputs[0], "'" + graph_.name(operand) + "' holds infinities");
        if (!is_one_of(node.op, kFinite)) {
          infinite_.insert(node.outputs.begin(), node.outputs.end());
        }
        return;
      }
    }
    for (const auto* ends : {&node.inputs, &node.outputs}) {
      for (const ValueId value : *ends) {
        if (value && is_float(graph_.type(value).dtype) &&
            element_count(graph_.type(value).shape) == 0) {
          found_.emplace(node.outputs[0], "'" + graph_.name(value) + "' has no elements");
        }
      }
    }
  }

  bool holds_infinity(const Node& node, ValueId operand) {
    const Tensor* constant = graph_.constant(operand);
    if (constant == nullptr) {
      return infinite_.contains(operand);
    }
    if (constant->dtype() != DType::kFloat32 || is_one_of(node.op, kLimiting)) {
      return false;
    }
    const auto [known, is_new] = constants_.try_emplace(operand, false);
    if (is_new) {
      const auto numbers = constant->view<float>();
      known->second = !is_finite_throughout(numbers) &&
                      std::any_of(numbers.begin(), numbers.end(),
                                  [](float number) { return std::isinf(number); });
    }
    return known->second;
  }

  const Graph& graph_;
  std::map<ValueId, std::string> found_;
  std::set<ValueId> infinite_;         ///< computed values
  std::map<ValueId, bool> constants_;  ///< whether they hold infinities
};

}  // namespace

std::map<ValueId, std::string> unquantizable_nodes(const Graph& graph) {
  return Search(graph).run();
}

}  // namespace tare
