// Conv(Pad(x)), AveragePool(Pad(x)) -> Conv(x), AveragePool(x) with larger pads
//
// Frameworks without asymmetric pads export them as a node of their own.
#include "tare/graph.h"
#include "tare/pattern.h"

#include "prepare/constants.h"

#include <algorithm>

namespace tare {
namespace {

/// Why the node's own pads cannot take others in; empty when they can.
std::string obstacle(const Graph& graph, const Node& pad, const Node& node) {
  if (node.op == "MaxPool") {
    return "MaxPool pads with minus infinity";
  }
  if (pad.attributes.text("mode", "constant") != "constant") {
    return "Pad repeats elements of its operand";
  }
  const bool has_value = pad.inputs.size() > 2 && pad.inputs[2];
  if (has_value && uniform_constant(graph, pad.inputs[2]) != 0.0) {
    return "Pad does not pad with 0";
  }
  if (pad.inputs.size() > 3) {
    return "Pad names its axes";
  }
  if (node.attributes.text("auto_pad", "NOTSET") != "NOTSET") {
    return "pads are not explicit";
  }
  return {};
}

/// Why an AveragePool cannot take the pads that were added up; empty when it can.
std::string pool_obstacle(const Node& pool, const std::vector<std::int64_t>& own,
                          const std::vector<std::int64_t>& sum) {
  const bool counts_pads = pool.attributes.integer("count_include_pad", 0) != 0 ||
                           std::all_of(own.begin(), own.end(), [](auto p) { return p == 0; });
  if (!counts_pads) {
    return "AveragePool does not count its own pads";
  }
  if (pool.attributes.integer("ceil_mode", 0) != 0) {
    return "windows of AveragePool may lie beyond the pads";
  }
  const std::vector<std::int64_t> kernel = pool.attributes.integers("kernel_shape");
  for (std::size_t i = 0; i < sum.size(); ++i) {
    if (sum[i] >= kernel[i % kernel.size()]) {
      return "AveragePool would have windows of nothing but pads";
    }
  }
  return {};
}

std::variant<Patch, Refusal> fold_pad(const Graph& graph, const Match& match) {
  const Node& node = graph.node(match.root());
  const Node& pad = graph.node(match.node("pad"));
  if (std::string reason = obstacle(graph, pad, node); !reason.empty()) {
    return Refusal{std::move(reason)};
  }
  const std::vector<std::int64_t> added = *constant_integers(graph, pad, 1);
  const std::size_t rank = graph.type(pad.outputs[0]).shape.size();
  std::vector<std::int64_t> sum =
      node.attributes.integers("pads", std::vector<std::int64_t>(2 * (rank - 2), 0));
  const std::vector<std::int64_t> own = sum;
  if (added.size() != 2 * rank || own.size() != 2 * (rank - 2)) {
    return Refusal{"the number of pads does not fit the rank"};
  }
  for (std::size_t i = 0; i < added.size(); ++i) {
    const std::size_t axis = i % rank;
    if (added[i] < 0 || (axis < 2 && added[i] != 0)) {
      return Refusal{"Pad crops, or changes batch or channels"};
    }
    if (axis >= 2) {
      sum[i / rank * (rank - 2) + axis - 2] += added[i];
    }
  }
  Attributes attributes = node.attributes;
  if (node.op == "AveragePool") {
    if (std::string reason = pool_obstacle(node, own, sum); !reason.empty()) {
      return Refusal{std::move(reason)};
    }
    attributes.set("count_include_pad", std::int64_t{1});
  }
  attributes.set("pads", sum);
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = pad.inputs[0];
  Patch patch(graph);
  patch.replace_node(node, node.op, inputs, attributes);
  return patch;
}

}  // namespace
}  // namespace tare

TARE_RULE(fold_pad) {
  using namespace tare;
  return {.name = "fold_pad",
          .summary = "moves a Pad with zeros into the pads of its reader",
          .benefit = 70,
          .pattern =
              [] {
                const Pattern pad = op("Pad").with(any(), constant()).with_more().as("pad");
                return op_of({"AveragePool", "Conv", "MaxPool"}).with(pad).with_more();
              },
          .rewrite = fold_pad};
}
