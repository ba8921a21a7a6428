// LayerNormalization(x) * scale -> LayerNormalization(x, scale); likewise + bias
//
// The second half of what exporters write below opset 17.
#include "tare/graph.h"
#include "tare/pattern.h"

#include "prepare/constants.h"

#include <algorithm>
#include <cstddef>

namespace tare {
namespace {

/// The elements of a constant that is one number, or has the shape of `normalized` (extents of
/// 1 before it aside).
std::optional<std::vector<double>> elements_like(const Graph& graph, ValueId id,
                                                 const Shape& normalized) {
  if (const auto number = uniform_constant(graph, id)) {
    return std::vector<double>(static_cast<std::size_t>(element_count(normalized)), *number);
  }
  const auto without_ones = [](const Shape& shape) {
    return Shape(std::find_if(shape.begin(), shape.end(), [](auto n) { return n != 1; }),
                 shape.end());
  };
  const Tensor* tensor = graph.constant(id);
  if (tensor == nullptr || tensor->dtype() != DType::kFloat32 ||
      without_ones(tensor->shape()) != without_ones(normalized)) {
    return std::nullopt;
  }
  return tensor->to_double();
}

std::variant<Patch, Refusal> fold_layer_norm_affine(const Graph& graph, const Match& match) {
  const Node& node = graph.node(match.root());
  const Node& norm = graph.node(match.node("norm"));
  if (norm.outputs.size() != 1 || graph.type(norm.outputs[0]) != graph.type(node.outputs[0])) {
    return Refusal{"the constant enlarges the result, or the statistics are read"};
  }
  const Shape& shape = graph.type(norm.outputs[0]).shape;
  const std::size_t axis = normalized_axis(norm.attributes.integer("axis", -1), shape.size());
  const Shape normalized(shape.begin() + static_cast<std::ptrdiff_t>(axis), shape.end());
  const auto zeros = std::vector<double>(static_cast<std::size_t>(element_count(normalized)));
  const bool has_bias = norm.inputs.size() > 2 && norm.inputs[2];
  auto scale = elements_like(graph, norm.inputs[1], normalized);
  auto bias = has_bias ? elements_like(graph, norm.inputs[2], normalized) : zeros;
  const auto other = elements_like(graph, match.value("constant"), normalized);
  if (!scale || !bias || !other) {
    return Refusal{"scale or bias is not a constant over the normalized axes"};
  }
  for (std::size_t i = 0; i < other->size(); ++i) {
    if (node.op == "Mul") {
      (*scale)[i] *= (*other)[i];
      (*bias)[i] *= (*other)[i];
    } else {
      (*bias)[i] += (*other)[i];
    }
  }
  const auto new_scale = rounded(normalized, *scale);
  const auto new_bias = rounded(normalized, *bias);
  if (!new_scale || !new_bias) {
    return Refusal{"the folded constants are not finite"};
  }
  Patch patch(graph);
  std::vector<ValueId> inputs{norm.inputs[0],
                              patch.add_constant(norm.name + "/scale", *new_scale)};
  if (has_bias || node.op == "Add") {
    inputs.push_back(patch.add_constant(norm.name + "/bias", *new_bias));
  }
  patch.replace(node.outputs[0], patch.add(norm.op, inputs, graph.type(node.outputs[0]),
                                           norm.name, norm.attributes));
  return patch;
}

}  // namespace
}  // namespace tare

TARE_RULE(fold_layer_norm_affine) {
  using namespace tare;
  return {.name = "fold_layer_norm_affine",
          .summary = "moves a constant Mul or Add into the LayerNormalization before it",
          .benefit = 70,
          .pattern =
              [] {
                return op_of({"Add", "Mul"})
                    .with_any_order(op("LayerNormalization").single_use().as("norm"),
                                    constant().as("constant"));
              },
          .rewrite = fold_layer_norm_affine};
}
