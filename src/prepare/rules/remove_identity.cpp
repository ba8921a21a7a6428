// Identity(x), Dropout(x), Cast(x) to its own type, Reshape(x) to its own shape, ... -> x
//
// Nodes that do nothing hide neighbours from the other rules.
#include "tare/graph.h"
#include "tare/pattern.h"

#include "prepare/element_order.h"

#include <algorithm>
#include <limits>

namespace tare {
namespace {

bool all_equal(const std::optional<std::vector<std::int64_t>>& numbers, std::int64_t wanted) {
  return numbers && std::all_of(numbers->begin(), numbers->end(),
                                [&](std::int64_t n) { return n == wanted; });
}

bool is_absent(const Node& node, std::size_t operand) {
  return operand >= node.inputs.size() || !node.inputs[operand];
}

/// Whether a node that changes shapes, or picks elements, does nothing whatever the extents
/// that the model leaves open are. It does nothing for those at hand.
bool always_passes_through(const Graph& graph, const Node& node) {
  if (node.op == "Reshape") {  // importing wrote -1 only where an extent changes
    const auto target = constant_integers(graph, node, 1);
    return target && std::find(target->begin(), target->end(), -1) == target->end();
  }
  if (node.op == "Expand" || node.op == "Tile") {
    return constant_integers(graph, node, 1).has_value();
  }
  if (node.op == "Slice") {
    constexpr std::int64_t kEnd = std::numeric_limits<std::int32_t>::max();
    const auto ends = constant_integers(graph, node, 2);
    return all_equal(constant_integers(graph, node, 1), 0) && ends &&
           std::all_of(ends->begin(), ends->end(),
                       [](std::int64_t end) { return end >= kEnd; });
  }
  return node.op != "Flatten" || node.attributes.integer("axis", 1) == 1;
}

/// Given that the type of the result is that of the first operand.
bool passes_through(const Graph& graph, const Node& node) {
  const auto others_unread = [&] {
    return std::all_of(node.outputs.begin() + 1, node.outputs.end(), [&](ValueId output) {
      return graph.users(output).empty() && !graph.is_output(output);
    });
  };
  if (node.op == "Dropout") {
    const bool inferring =
        is_absent(node, 2) || all_equal(constant_integers(graph, node, 2), 0);
    return inferring && others_unread();
  }
  if (node.op == "Transpose") {
    return keeps_element_order(graph, node);
  }
  if (node.op == "Pad") {
    return all_equal(constant_integers(graph, node, 1), 0);
  }
  if (node.op == "Slice") {
    return is_absent(node, 4) || all_equal(constant_integers(graph, node, 4), 1);
  }
  if (node.op == "Concat" || node.op == "Sum" || node.op == "Max" || node.op == "Min") {
    return node.inputs.size() == 1;
  }
  if (node.op == "Split") {
    return node.outputs.size() == 1;
  }
  return true;
}

bool does_nothing(const Graph& graph, const Node& node) {
  return !node.inputs.empty() && node.inputs[0] &&
         graph.type(node.inputs[0]) == graph.type(node.outputs[0]) &&
         passes_through(graph, node) &&
         (!leaves_extents_open(graph) || always_passes_through(graph, node));
}

std::variant<Patch, Refusal> bypass(const Graph& graph, const Match& match) {
  const Node& node = graph.node(match.root());
  Patch patch(graph);
  patch.replace(node.outputs[0], node.inputs[0]);
  return patch;
}

}  // namespace
}  // namespace tare

TARE_RULE(remove_identity) {
  using namespace tare;
  return {.name = "remove_identity",
          .summary = "removes nodes that return their operand as it is",
          .benefit = 100,
          .pattern =
              [] {
                return op_of({"Cast", "Concat", "Dropout", "Expand", "Flatten", "Identity",
                              "Max", "Min", "Pad", "Reshape", "Slice", "Split", "Squeeze",
                              "Sum", "Tile", "Transpose", "Unsqueeze"})
                    .where(does_nothing, "returns its operand as it is");
              },
          .rewrite = bypass};
}
