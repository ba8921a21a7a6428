// Transpose(Transpose(x)) -> Transpose(x), or x when they cancel
//
// Layout conversions of exporters come in pairs.
#include "tare/graph.h"
#include "tare/pattern.h"

#include <algorithm>
#include <numeric>

namespace tare {
namespace {

std::vector<std::int64_t> permutation(const Graph& graph, const Node& node) {
  std::vector<std::int64_t> reversed(graph.type(node.inputs[0]).shape.size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  return node.attributes.integers("perm", reversed);
}

std::variant<Patch, Refusal> merge_transposes(const Graph& graph, const Match& match) {
  const Node& outer = graph.node(match.root());
  const Node& inner = graph.node(match.node("inner"));
  const std::vector<std::int64_t> first = permutation(graph, inner);
  std::vector<std::int64_t> both;
  for (const std::int64_t axis : permutation(graph, outer)) {
    both.push_back(first.at(static_cast<std::size_t>(axis)));
  }
  Patch patch(graph);
  if (std::is_sorted(both.begin(), both.end())) {
    patch.replace(outer.outputs[0], inner.inputs[0]);
  } else {
    patch.replace_node(outer, "Transpose", {inner.inputs[0]}, {{"perm", both}});
  }
  return patch;
}

}  // namespace
}  // namespace tare

TARE_RULE(merge_transposes) {
  using namespace tare;
  return {.name = "merge_transposes",
          .summary = "makes one Transpose of two in a row",
          .benefit = 70,
          .pattern = [] { return op("Transpose").with(op("Transpose").as("inner")); },
          .rewrite = merge_transposes};
}
