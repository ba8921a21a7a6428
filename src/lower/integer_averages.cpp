// Averages whose halves go away from an integer, as TensorFlow Lite rounds them, spelled with
// QuantizeLinear and DequantizeLinear
// (docs/decisions/0020-averages-have-a-tie-breaking-point.md), and read back from that
// spelling.
#include "lower/integer_averages.h"

#include "graph/arithmetic/node_arithmetic.h"
#include "lower/conversions.h"

#include <functional>
#include <numeric>
#include <optional>
#include <vector>

namespace tare {
namespace {

// An average in float32 is off by 2^-22 of itself at most. Averages of n integers of 8 bits lie
// 1 / (2 n) or more from a half that they are not on: for n = 1024 twice as far as the 255 *
// 2^-20 by which they are moved.
constexpr float kOne = 1;
constexpr float kAlmostOne = 1 - 0x1p-20F;
constexpr std::int64_t kMostTaps = 1024;

QuantParams parameters(DType storage, float scale, std::int32_t zero_point) {
  return {.storage = storage,
          .scale = {scale},
          .zero_point = {zero_point},
          .axis = {},
          .narrow_range = false};
}

/// The zero point of a conversion of 8-bit integers by that scale.
std::optional<std::int32_t> centre_of(const Graph& graph, const Node& conversion, float scale,
                                      DType storage) {
  if (conversion.inputs.size() < 3 || !conversion.inputs[2] || size_of(storage) != 1) {
    return std::nullopt;
  }
  const Tensor* scales = graph.constant(conversion.inputs[1]);
  const Tensor* zeros = graph.constant(conversion.inputs[2]);
  const bool is_known = scales != nullptr && scales->dtype() == DType::kFloat32 &&
                        scales->size() == 1 && scales->view<float>()[0] == scale &&
                        zeros != nullptr && zeros->dtype() == storage && zeros->size() == 1;
  return is_known ? std::optional(static_cast<std::int32_t>(zeros->to_int64()[0]))
                  : std::nullopt;
}

bool has_few_taps(const Node& average) {
  const auto window = average.attributes.integers("kernel_shape");
  return std::accumulate(window.begin(), window.end(), std::int64_t{1}, std::multiplies<>()) <=
         kMostTaps;
}

/// Those that do not count what is put around.
std::vector<NodeId> averages(const Graph& graph) {
  std::vector<NodeId> result;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (node.op == "AveragePool" && node.attributes.integer("count_include_pad", 0) == 0 &&
        has_few_taps(node)) {
      result.push_back(id);
    }
  }
  return result;
}

/// The QuantizeLinear behind an average that nothing else reads.
std::optional<NodeId> rounding_of(const Graph& graph, ValueId average) {
  if (!graph.single_use(average)) {
    return std::nullopt;
  }
  const NodeId user = graph.users(average)[0];
  return graph.node(user).op == "QuantizeLinear" ? std::optional(user) : std::nullopt;
}

}  // namespace

std::optional<std::int32_t> spelled_centre(const Node& node) {
  const auto centre = tie_breaking_point(node.attributes);
  return centre && has_few_taps(node) ? centre : std::nullopt;
}

QuantParams as_integers(DType storage, std::int32_t centre) {
  return parameters(storage, kOne, centre);
}

QuantParams as_averages(DType storage, std::int32_t centre) {
  return parameters(storage, kAlmostOne, centre);
}

Graph read_integer_averages(Graph graph) {
  for (const NodeId id : averages(graph)) {
    const Node average = graph.node(id);
    const auto rounding = rounding_of(graph, average.outputs[0]);
    if (!rounding || !is_op(graph, average.inputs[0], "DequantizeLinear")) {
      continue;
    }
    const Node expressing = graph.node(*graph.producer(average.inputs[0]));
    const ValueId storage = expressing.inputs[0];
    const Node stored = graph.node(*rounding);
    const DType dtype = graph.type(storage).dtype;
    const auto centre = centre_of(graph, expressing, kOne, dtype);
    if (!centre || graph.type(stored.outputs[0]).dtype != dtype ||
        centre_of(graph, stored, kAlmostOne, dtype) != centre) {
      continue;
    }
    Attributes attributes = average.attributes;
    set_tie_breaking_point(attributes, centre);
    replace_node(graph, stored, "AveragePool", {storage}, attributes);
  }
  graph.erase_unused();
  return graph;
}

}  // namespace tare
