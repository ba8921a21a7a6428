// Clip(x, 0, inf) -> Relu(x); Clip(x, -inf, inf) -> x
//
// One spelling for each activation.
#include "tare/graph.h"
#include "tare/pattern.h"

#include "prepare/interval.h"

namespace tare {
namespace {

bool has_other_spelling(const Graph& graph, const Node& node) {
  const auto interval = interval_of(graph, node);
  return interval && (interval->is_relu() || interval->is_everything());
}

std::variant<Patch, Refusal> make_clip_canonical(const Graph& graph, const Match& match) {
  const Node& node = graph.node(match.root());
  Patch patch(graph);
  clip_in_place(patch, node, node.inputs[0], *interval_of(graph, node));
  return patch;
}

}  // namespace
}  // namespace tare

TARE_RULE(canonical_clip) {
  using namespace tare;
  return {.name = "canonical_clip",
          .summary = "writes Clip from 0 upwards as Relu, and removes Clip without bounds",
          .benefit = 90,
          .pattern =
              [] {
                return op("Clip").where(has_other_spelling,
                                        "clips to [0, inf] or to [-inf, inf]");
              },
          .rewrite = make_clip_canonical};
}
