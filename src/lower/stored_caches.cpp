// Caches of keys and values as int8. What is in a cache stays as it is when new rows come
// behind it, so that only these are rounded, and no value twice; what reads the cache, within
// this step too, reads what is stored. Linear in the number of outputs.
#include "lower/stored_caches.h"

#include "tare/graph.h"

#include "graph/ir/derived_names.h"
#include "lower/conversions.h"

#include <iterator>
#include <utility>

namespace tare {

std::vector<Cache> find_caches(const Graph& graph) {
  constexpr std::int64_t kRank = 4;
  constexpr std::int64_t kLength = 2;
  std::vector<Cache> result;
  for (const ValueId output : graph.outputs()) {
    const auto producer = graph.producer(output);
    if (!producer || graph.node(*producer).op != "Concat") {
      continue;
    }
    const Node& node = graph.node(*producer);
    const TensorType& type = graph.type(output);
    const std::int64_t axis = node.attributes.integer("axis", 0);
    if (node.inputs.size() == 2 && graph.is_input(node.inputs[0]) &&
        type.dtype == DType::kFloat32 && std::ssize(type.shape) == kRank &&
        (axis == kLength || axis == kLength - kRank)) {
      result.push_back({node.inputs[0], output});
    }
  }
  return result;
}

namespace {

TensorType as_bytes(TensorType type) {
  type.dtype = DType::kInt8;
  return type;
}

void store(Graph& graph, const Cache& cache, const CacheScales& by) {
  const Node concat = graph.node(*graph.producer(cache.output));
  const std::string name = graph.name(cache.output);
  const TensorType real = graph.type(cache.output);
  const auto count = static_cast<std::int64_t>(by.scales.size());
  TensorType rounded = as_bytes(graph.type(concat.inputs[1]));
  rounded.quant = QuantParams{.storage = DType::kInt8,
                              .scale = by.scales,
                              .zero_point = std::vector<std::int32_t>(by.scales.size(), 0),
                              .axis = by.axis,
                              .narrow_range = false};
  graph.set_type(cache.input, as_bytes(graph.type(cache.input)));
  const ValueId now =
      add_quantize(graph, concat.inputs[1], rounded, graph.unique_name(name + "_new"));
  const NodeId joined = graph.add_node(
      graph.unique_name(concat.name), "Concat", {cache.input, now},
      {{graph.unique_name(name + "_stored"), as_bytes(real)}}, concat.attributes);
  const ValueId stored = graph.node(joined).outputs[0];
  const ValueId scale = graph.add_constant(graph.unique_name(name + "_scale"),
                                           Tensor::of<float>({count}, by.scales));
  const ValueId zero = graph.add_constant(graph.unique_name(name + "_zero_point"),
                                          Tensor(DType::kInt8, {count}));
  const NodeId read =
      graph.add_node(graph.unique_name(concat.name + "_real"), "DequantizeLinear",
                     {stored, scale, zero}, {{graph.unique_name(name + "_real"), real}},
                     {{"axis", static_cast<std::int64_t>(by.axis)}});
  std::vector<ValueId> outputs(graph.outputs().begin(), graph.outputs().end());
  graph.replace_uses(cache.output, graph.node(read).outputs[0]);
  for (ValueId& output : outputs) {
    output = output == cache.output ? stored : output;
  }
  graph.set_outputs(std::move(outputs));
  take_place(graph, *graph.producer(cache.output), joined);
  graph.rename(stored, name);
}

}  // namespace

Graph with_stored_caches(Graph integer, const std::map<std::string, CacheScales>& scales) {
  for (const Cache& cache : find_caches(integer)) {
    if (const auto found = scales.find(integer.name(cache.output)); found != scales.end()) {
      store(integer, cache, found->second);
    }
  }
  integer.erase_unused();
  return integer;
}

}  // namespace tare
