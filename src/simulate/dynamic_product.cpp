#include "simulate/dynamic_product.h"

#include "tare/graph.h"
#include "tare/simulate.h"

#include "graph/operators/product.h"

#include <algorithm>

namespace tare {
namespace {

/// The operators on integers that stand for it neither scale nor transpose their operand.
bool is_plain(const Attributes& attributes) {
  return attributes.real("alpha", 1) == 1 && attributes.real("beta", 1) == 1 &&
         attributes.integer("transA", 0) == 0;
}

/// Absent, or one constant number for each result.
bool is_row(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 3 || !node.inputs[2]) {
    return true;
  }
  const Tensor* bias = graph.constant(node.inputs[2]);
  const Shape& shape = graph.type(node.outputs[0]).shape;
  return bias != nullptr && static_cast<std::int64_t>(bias->size()) ==
                                shape[static_cast<std::size_t>(channel_axis(node, shape))];
}

bool is_real_constant(const Graph& graph, ValueId value) {
  const Tensor* tensor = graph.constant(value);
  return tensor != nullptr && tensor->dtype() == DType::kFloat32;
}

/// The operator on integers has no layout with sequences first. Both directions have the same
/// scales, one for each row of weights.
std::vector<DynamicWeight> weights_of_lstm(const Graph& graph, const Node& node) {
  constexpr std::size_t kW = 1;
  constexpr std::size_t kR = 2;
  const bool runs =
      is_real_constant(graph, node.inputs[kW]) && is_real_constant(graph, node.inputs[kR]) &&
      graph.constant(node.inputs[0]) == nullptr && node.attributes.integer("layout", 0) == 0;
  return runs ? std::vector<DynamicWeight>{{kW, 1}, {kR, 1}} : std::vector<DynamicWeight>();
}

}  // namespace

std::vector<DynamicWeight> dynamic_weights(const Graph& graph, const Node& node) {
  if (node.op == "LSTM") {
    return weights_of_lstm(graph, node);
  }
  if (!is_product(node) || !is_real_constant(graph, node.inputs[1])) {
    return {};
  }
  const std::size_t rank = graph.type(node.inputs[1]).shape.size();
  if (rank < 2 || graph.constant(node.inputs[0]) != nullptr || !is_row(graph, node)) {
    return {};
  }
  const bool runs = node.op == "Conv" || (node.op == "Gemm" && is_plain(node.attributes)) ||
                    (node.op == "MatMul" && graph.type(node.inputs[0]).shape.size() >= 2);
  return runs ? std::vector<DynamicWeight>{{1,
                                            static_cast<int>(weight_layout(node, rank).output)}}
              : std::vector<DynamicWeight>();
}

bool is_enabled(const DynamicProduct& product, const QuantTable& table) {
  return std::all_of(product.weights.begin(), product.weights.end(),
                     [&](const std::string& weight) {
                       const auto entry = table.find(weight);
                       return entry != table.end() && entry->second.enabled;
                     });
}

std::string dynamic_kernel(const Node& node) {
  return node.op == "LSTM"   ? "DynamicQuantizeLSTM"
         : node.op == "Conv" ? "ConvInteger"
                             : "MatMulInteger";
}

}  // namespace tare
