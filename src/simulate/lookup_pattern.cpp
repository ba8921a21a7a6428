#include "simulate/lookup_pattern.h"

#include "tare/graph.h"
#include "tare/pattern.h"

#include <algorithm>
#include <array>
#include <cstddef>

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
  // Side by side, as compilers vectorize it.
  std::array<float, 16> lows{};
  std::array<float, 16> highs{};
  const auto numbers = graph.constant(node.inputs[0])->view<float>();
  lows.fill(numbers[0]);
  highs.fill(numbers[0]);
  const auto look_at = [&](std::size_t lane, float number) {
    lows[lane] = std::min(lows[lane], number);
    highs[lane] = std::max(highs[lane], number);
  };
  std::size_t first = 0;
  for (; first + lows.size() <= numbers.size(); first += lows.size()) {
    for (std::size_t lane = 0; lane < lows.size(); ++lane) {
      look_at(lane, numbers[first + lane]);
    }
  }
  for (; first < numbers.size(); ++first) {
    look_at(0, numbers[first]);
  }
  return Range{*std::min_element(lows.begin(), lows.end()),
               *std::max_element(highs.begin(), highs.end())};
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
