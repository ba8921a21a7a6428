#include "simulate/lookup_pattern.h"

#include "tare/graph.h"
#include "tare/pattern.h"

#include <algorithm>

namespace tare {
namespace {

/// With fewer numbers parameters and a conversion take more bytes of a file than integers save.
constexpr std::int64_t kLeast = 256;

bool looks_up_a_table(const Graph& graph, const Node& node) {
  const Tensor* table = node.op == "Gather" ? graph.constant(node.inputs[0]) : nullptr;
  return table != nullptr && table->dtype() == DType::kFloat32 &&
         element_count(table->shape()) >= kLeast;
}

/// The table stays a constant of real numbers here: quantizing what is looked up moves it to
/// storage values.
ValueId looked_up(AffineBuilder& builder, const Match& match) {
  const Node& node = builder.graph().node(match.root());
  return builder.apply(node, node.inputs);
}

}  // namespace

std::optional<Range> looked_up_range(const Graph& graph, const Node& node) {
  if (!looks_up_a_table(graph, node)) {
    return std::nullopt;
  }
  const auto numbers = graph.constant(node.inputs[0])->view<float>();
  const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
  return Range{*low, *high};
}

const QuantPattern& lookup_pattern() {
  static const QuantPattern pattern{
      .name = "lookup",
      .summary = "rows of a constant",
      .pattern = [] { return op("Gather").where(looks_up_a_table); },
      .simulate = looked_up,
      .quantize = looked_up};
  return pattern;
}

}  // namespace tare
