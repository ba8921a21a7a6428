// Tables of embeddings as int8. A row is all that a token looks up, so it has a scale of its
// own, and a DequantizeLinear before the lookup would turn the whole table into floats for each
// token. Engines have no kernel for the other order, which core operators spell: Gather of
// integers and of scales, Cast and Mul. One look at each element.
#include "lower/stored_embeddings.h"

#include "tare/graph.h"

#include "graph/arithmetic/onnx_number.h"
#include "graph/ir/derived_names.h"
#include "lower/conversions.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tare {
namespace {

constexpr float kMost = 127;

struct StoredTable {
  Tensor integers;
  Tensor scales;  ///< [rows, 1]
};

StoredTable stored(const Tensor& table) {
  const std::int64_t rows = table.shape()[0];
  const auto width = static_cast<std::size_t>(table.shape()[1]);
  StoredTable result{Tensor(DType::kInt8, table.shape()), Tensor(DType::kFloat32, {rows, 1})};
  const auto values = table.view<float>();
  const auto integers = result.integers.mutable_view<std::int8_t>();
  const auto scales = result.scales.mutable_view<float>();
  for (std::size_t row = 0; row < scales.size(); ++row) {
    const auto own = values.subspan(row * width, width);
    float largest = 0;
    for (const float value : own) {
      largest = std::max(largest, std::abs(value));
    }
    scales[row] = largest > 0 ? largest / kMost : 1;
    for (std::size_t i = 0; i < width; ++i) {
      integers[row * width + i] = static_cast<std::int8_t>(
          std::clamp(std::nearbyint(own[i] / scales[row]), -kMost, kMost));
    }
  }
  return result;
}

bool is_table(const Graph& graph, const Node& node) {
  const Tensor* table = node.op == "Gather" ? graph.constant(node.inputs[0]) : nullptr;
  return table != nullptr && table->dtype() == DType::kFloat32 && table->shape().size() == 2 &&
         table->size() > 0 && graph.single_use(node.inputs[0]) &&
         node.attributes.integer("axis", 0) == 0 && !graph.is_output(node.outputs[0]);
}

void store(Graph& graph, const Node& lookup) {
  const std::string name = graph.name(lookup.outputs[0]);
  const std::string of_table = graph.name(lookup.inputs[0]);
  const TensorType real = graph.type(lookup.outputs[0]);
  StoredTable table = stored(*graph.constant(lookup.inputs[0]));
  TensorType bytes = real;
  bytes.dtype = DType::kInt8;
  TensorType numbers = real;
  numbers.shape.back() = 1;
  const auto add = [&](const char* op, const char* suffix, std::vector<ValueId> operands,
                       const TensorType& type, Attributes attributes = {}) {
    const std::string own = graph.unique_name(name + suffix);
    const NodeId id =
        graph.add_node(own, op, std::move(operands), {{own, type}}, std::move(attributes));
    return graph.node(id).outputs[0];
  };
  const ValueId integers =
      graph.add_constant(graph.unique_name(of_table + "_quantized"), std::move(table.integers));
  const ValueId scales =
      graph.add_constant(graph.unique_name(of_table + "_scale"), std::move(table.scales));
  const ValueId row =
      add("Gather", "_quantized", {integers, lookup.inputs[1]}, bytes, lookup.attributes);
  const ValueId scale =
      add("Gather", "_scale", {scales, lookup.inputs[1]}, numbers, lookup.attributes);
  const ValueId steps =
      add("Cast", "_steps", {row}, real, {{"to", onnx_number(DType::kFloat32)}});
  const ValueId result = add("Mul", "_real", {steps, scale}, real);
  graph.replace_uses(lookup.outputs[0], result);
  take_place(graph, *graph.find_node(lookup.name), *graph.producer(result));
  graph.rename(result, name);
}

}  // namespace

Graph with_stored_embeddings(Graph integer, const std::set<std::string>& lookups) {
  for (const NodeId id : integer.topological_order()) {
    const Node node = integer.node(id);
    if (lookups.contains(node.name) && is_table(integer, node)) {
      store(integer, node);
    }
  }
  integer.erase_unused();
  return integer;
}

}  // namespace tare
