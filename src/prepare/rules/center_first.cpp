// x * s + (b - mean(x) * s) -> (x - mean(x)) * s + b
//
// TensorFlow normalizes so, which takes one product more where s has the size of x, and rounds
// more where the mean is large. What is left is the form that layer_normalization knows.
#include "tare/graph.h"
#include "tare/pattern.h"

#include <algorithm>

namespace tare {
namespace {

/// x - mean, which the variance is mostly computed of.
std::optional<ValueId> existing_difference(const Graph& graph, ValueId x, ValueId mean) {
  for (const NodeId user : graph.users(mean)) {
    const Node& node = graph.node(user);
    if (node.op == "Sub" && node.inputs.size() == 2 && node.inputs[0] == x &&
        node.inputs[1] == mean) {
      return node.outputs[0];
    }
  }
  return std::nullopt;
}

std::variant<Patch, Refusal> subtract_mean_first(const Graph& graph, const Match& match) {
  const Node& node = graph.node(match.root());
  const ValueId x = match.value("x");
  const ValueId mean = match.value("mean");
  const TensorType& type = graph.type(x);
  if (graph.type(node.outputs[0]) != type ||
      graph.type(mean).shape.size() != type.shape.size()) {
    return Refusal{"the result has another shape than what is normalized"};
  }
  Patch patch(graph);
  const auto known = existing_difference(graph, x, mean);
  ValueId value = known ? *known : patch.add("Sub", {x, mean}, type, node.name + "/centered");
  const auto multiply = [&](std::string_view factor) {
    if (match.has(factor)) {
      value = patch.add("Mul", {value, match.value(factor)}, type,
                        node.name + "/" + std::string(factor));
    }
  };
  multiply("factor");
  multiply("gamma");
  patch.replace_node(node, "Add", {value, match.value("beta")});
  return patch;
}

}  // namespace
}  // namespace tare

TARE_RULE(center_first) {
  using namespace tare;
  return {
      .name = "center_first",
      .summary = "subtracts a mean before a normalization multiplies, not behind it",
      .benefit = 80,
      .pattern =
          [] {
            const Pattern x = any().as("x");
            const Pattern mean = op("ReduceMean").with(x).as("mean");
            const Pattern scale =
                op("Mul").with_any_order(any().as("factor"), constant().as("gamma")) |
                any().as("factor");
            const Pattern scaled = op("Mul").with_any_order(x, scale.as("scale")).single_use();
            const Pattern scaled_mean =
                op("Mul").with_any_order(mean, scale.as("scale")).single_use();
            const Pattern shift = op("Sub").with(any().as("beta"), scaled_mean).single_use();
            return op("Add").with_any_order(scaled, shift);
          },
      .rewrite = subtract_mean_first};
}
