// Clip(Clip(x)), Relu(Clip(x)), Relu(Relu(x)), ... -> one Clip or Relu
//
// Clipping to [a, b] and then to [c, d] is clipping to [a, b] moved into [c, d].
#include "tare/graph.h"
#include "tare/pattern.h"

#include "prepare/interval.h"

#include <algorithm>

namespace tare {
namespace {

std::variant<Patch, Refusal> merge_clips(const Graph& graph, const Match& match) {
  const Node& outer = graph.node(match.root());
  const Node& inner = graph.node(match.node("inner"));
  const auto last = interval_of(graph, outer);
  const auto first = interval_of(graph, inner);
  if (!first || !last) {
    return Refusal{"a bound is computed, or they are in the wrong order"};
  }
  const Interval both{std::clamp(first->low, last->low, last->high),
                      std::clamp(first->high, last->low, last->high)};
  Patch patch(graph);
  if (both == *first) {
    patch.replace(outer.outputs[0], inner.outputs[0]);
    return patch;
  }
  if (!graph.single_use(inner.outputs[0])) {
    return Refusal{"the inner result has other readers"};
  }
  clip_in_place(patch, outer, inner.inputs[0], both);
  return patch;
}

}  // namespace
}  // namespace tare

TARE_RULE(merge_clips) {
  using namespace tare;
  return {.name = "merge_clips",
          .summary = "makes one Clip or Relu of two in a row",
          .benefit = 90,
          .pattern =
              [] {
                const Pattern clip = op_of({"Clip", "Relu"});
                return clip.with(clip.as("inner")).with_more();
              },
          .rewrite = merge_clips};
}
