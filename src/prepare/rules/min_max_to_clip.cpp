// Min(x, c), Max(x, c) -> Clip(x) with one bound
//
// Relu6 comes as Min(Relu(x), 6) from some exporters; Clip is what the other rules know.
#include "tare/graph.h"
#include "tare/pattern.h"

#include "prepare/constants.h"
#include "prepare/interval.h"

namespace tare {
namespace {

std::variant<Patch, Refusal> min_max_to_clip(const Graph& graph, const Match& match) {
  const Node& node = graph.node(match.root());
  const ValueId x = match.value("x");
  const std::optional<double> bound = uniform_constant(graph, match.value("bound"));
  if (!bound || graph.type(x) != graph.type(node.outputs[0])) {
    return Refusal{"the bound is not one float for all elements"};
  }
  Interval interval;
  (node.op == "Min" ? interval.high : interval.low) = static_cast<float>(*bound);
  Patch patch(graph);
  clip_in_place(patch, node, x, interval);
  return patch;
}

}  // namespace
}  // namespace tare

TARE_RULE(min_max_to_clip) {
  using namespace tare;
  return {
      .name = "min_max_to_clip",
      .summary = "writes Min and Max with a constant as Clip",
      .benefit = 90,
      .pattern =
          [] {
            return op_of({"Max", "Min"}).with_any_order(any().as("x"), constant().as("bound"));
          },
      .rewrite = min_max_to_clip};
}
