// (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) -> LayerNormalization(x, ones)
//
// What exporters write below opset 17. Scale and bias follow by fold_layer_norm_affine.
#include "tare/graph.h"
#include "tare/pattern.h"

#include "prepare/constants.h"

#include <cstddef>
#include <numeric>
#include <set>

namespace tare {
namespace {

/// Axes of a mean as the first of the last axes of its operand, when it takes nothing else.
std::optional<std::size_t> first_axis(const Graph& graph, const Node& mean) {
  const std::size_t rank = graph.type(mean.inputs[0]).shape.size();
  std::vector<std::int64_t> all(rank);
  std::iota(all.begin(), all.end(), 0);
  std::set<std::size_t> axes;
  for (const std::int64_t axis : mean.attributes.integers("axes", all)) {
    axes.insert(normalized_axis(axis, rank));
  }
  const bool last =
      !axes.empty() && *axes.rbegin() + 1 == rank && *axes.begin() + axes.size() == rank;
  return last ? std::optional(*axes.begin()) : std::nullopt;
}

bool is_over_last_axes(const Graph& graph, const Node& mean) {
  return mean.attributes.integer("keepdims", 1) == 1 && mean.inputs.size() == 1 &&
         first_axis(graph, mean).has_value();
}

Pattern mean_of(const Pattern& x, std::string_view capture) {
  return op("ReduceMean")
      .with(x)
      .where(is_over_last_axes, "takes the mean over the last axes and keeps them")
      .as(capture);
}

Pattern normalization() {
  const Pattern x = any().as("x");
  const Pattern centered = op("Sub").with(x, mean_of(x, "mean"));
  // Some exporters subtract twice, and take the mean twice.
  const Pattern again = op("Sub").with(x, mean_of(x, "mean again"));
  const Pattern square = op("Pow").with(again, scalar(2)) | op("Mul").with(again, again);
  const Pattern deviation = op("Sqrt").with(
      op("Add").with_any_order(mean_of(square, "variance"), constant().as("epsilon")));
  return op("Div").with(centered, deviation) |
         op("Mul").with_any_order(centered, op("Reciprocal").with(deviation));
}

std::variant<Patch, Refusal> combine_layer_normalization(const Graph& graph,
                                                         const Match& match) {
  const Node& node = graph.node(match.root());
  const ValueId x = match.value("x");
  const auto axis = first_axis(graph, graph.node(match.node("mean")));
  if (first_axis(graph, graph.node(match.node("mean again"))) != axis ||
      first_axis(graph, graph.node(match.node("variance"))) != axis) {
    return Refusal{"mean and variance are taken over different axes"};
  }
  const auto epsilon = uniform_constant(graph, match.value("epsilon"));
  if (!epsilon || *epsilon < 0 || graph.type(x) != graph.type(node.outputs[0]) ||
      graph.type(x).dtype != DType::kFloat32) {
    return Refusal{"epsilon is not one number, or the values are not float32"};
  }
  const Shape& shape = graph.type(x).shape;
  const Shape normalized(shape.begin() + static_cast<std::ptrdiff_t>(*axis), shape.end());
  const std::vector<float> ones(static_cast<std::size_t>(element_count(normalized)), 1.0F);
  Patch patch(graph);
  const ValueId scale = patch.add_constant(node.name + "/scale", Tensor::of(normalized, ones));
  patch.replace_node(node, "LayerNormalization", {x, scale},
                     {{"axis", -static_cast<std::int64_t>(normalized.size())},
                      {"epsilon", static_cast<float>(*epsilon)}});
  return patch;
}

}  // namespace
}  // namespace tare

TARE_RULE(layer_normalization) {
  using namespace tare;
  return {.name = "layer_normalization",
          .summary = "writes the parts of a layer normalization as one node",
          .benefit = 80,
          .pattern = normalization,
          .rewrite = combine_layer_normalization};
}
