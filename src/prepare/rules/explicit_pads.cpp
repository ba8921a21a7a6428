// Conv(x) {auto_pad=SAME_UPPER | SAME_LOWER | VALID} -> Conv(x) {pads=...}; likewise pooling
//
// One spelling of padding for everything that comes after.
#include "tare/graph.h"
#include "tare/pattern.h"

#include <algorithm>

namespace tare {
namespace {

std::variant<Patch, Refusal> spell_out(const Graph& graph, const Match& match) {
  const Node& node = graph.node(match.root());
  const std::string how = node.attributes.text("auto_pad");
  const Shape& in = graph.type(node.inputs[0]).shape;
  const Shape& out = graph.type(node.outputs[0]).shape;
  const std::size_t spatial = in.size() - 2;
  const bool is_conv = node.op == "Conv";
  const Shape kernel = is_conv ? Shape(graph.type(node.inputs[1]).shape.begin() + 2,
                                       graph.type(node.inputs[1]).shape.end())
                               : Shape(node.attributes.integers("kernel_shape"));
  const Shape ones(spatial, 1);
  const auto strides = node.attributes.integers("strides", ones);
  const auto dilations = node.attributes.integers("dilations", ones);
  std::vector<std::int64_t> pads(2 * spatial, 0);
  for (std::size_t i = 0; i < spatial && how != "VALID"; ++i) {
    const std::int64_t window = (kernel.at(i) - 1) * dilations.at(i) + 1;
    const std::int64_t needed = (out.at(i + 2) - 1) * strides.at(i) + window - in.at(i + 2);
    const std::int64_t total = std::max<std::int64_t>(needed, 0);
    const std::int64_t less = total / 2;
    pads[i] = how == "SAME_UPPER" ? less : total - less;
    pads[i + spatial] = total - pads[i];
  }
  Attributes attributes = node.attributes;
  attributes.erase("auto_pad");
  if (how != "VALID") {
    attributes.erase("ceil_mode");  // SAME alone gives the extents of the result
  }
  attributes.set("pads", pads);
  Patch patch(graph);
  patch.replace_node(node, node.op, node.inputs, attributes);
  return patch;
}

bool is_automatic(const Graph&, const Node& node) {
  const std::string how = node.attributes.text("auto_pad", "NOTSET");
  return node.outputs.size() == 1 &&
         (how == "SAME_UPPER" || how == "SAME_LOWER" || how == "VALID");
}

}  // namespace
}  // namespace tare

TARE_RULE(explicit_pads) {
  using namespace tare;
  return {.name = "explicit_pads",
          .summary = "writes auto_pad as pads",
          .benefit = 90,
          .pattern =
              [] {
                return op_of({"AveragePool", "Conv", "LpPool", "MaxPool"})
                    .where(is_automatic, "auto_pad is SAME_UPPER, SAME_LOWER or VALID");
              },
          .rewrite = spell_out};
}
