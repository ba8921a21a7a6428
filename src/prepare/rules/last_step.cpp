// Slice(Squeeze(LSTM's first result), -1) -> LSTM's second result
//
// What a recurrent layer computes last is a result of its own, which engines have without the
// others being moved.
#include "tare/graph.h"
#include "tare/pattern.h"

#include "prepare/recurrent_layer.h"
#include "prepare/slice_axes.h"

namespace tare {
namespace {

bool keeps_order(const Graph&, const Node& layer) {
  return layer.attributes.text("direction", "forward") == "forward" &&
         layer.attributes.integer("layout", 0) == 0 &&
         (layer.inputs.size() <= 4 || !layer.inputs[4]);
}

bool is_of_directions(const Graph& graph, const Node& squeeze) {
  return constant_integers(graph, squeeze, 1) == std::vector<std::int64_t>{1};
}

/// Whether it takes the last element along the first axis, and nothing else, whatever the
/// extents are that the model leaves open.
bool takes_last(const Graph& graph, const Node& slice) {
  const auto axes = slice_axes(graph, slice);
  return axes && axes->size() == 1 && axes->front().axis == 0 && axes->front().start == -1 &&
         axes->front().is_open() && axes->front().step == 1;
}

std::variant<Patch, Refusal> take_last_result(const Graph& graph, const Match& match) {
  const ValueId result = graph.node(match.root()).outputs[0];
  const Node& layer = graph.node(match.node("layer"));
  Patch patch(graph);
  const ValueId last = layer.outputs.size() > 1
                           ? layer.outputs[1]
                           : replace_layer(patch, graph, layer, layer.inputs, 2).at(1);
  if (patch.type(last) != graph.type(result)) {
    return Refusal{"the layer's second result is of another type"};
  }
  patch.replace(result, last);
  return patch;
}

}  // namespace
}  // namespace tare

TARE_RULE(last_step) {
  using namespace tare;
  return {
      .name = "last_step",
      .summary = "takes the last step of a recurrent layer from the result that is just that",
      .benefit = 80,
      .pattern =
          [] {
            const Pattern layer =
                op_of({"GRU", "LSTM", "RNN"})
                    .where(keeps_order, "goes forward over sequences of one length")
                    .as("layer");
            const Pattern steps =
                op("Squeeze")
                    .with(layer, constant())
                    .where(is_of_directions, "removes the axis of directions");
            return op("Slice").with(steps).with_more().where(takes_last, "takes the last step");
          },
      .rewrite = take_last_result};
}
