// Lets a MaxPool read the real values before the QuantizeLinear and DequantizeLinear that it
// reads, where a QuantizeLinear to the same parameters is behind it: rounding keeps the order
// of values, so the results are the same bit for bit, and a quarter of the elements is rounded.
// ONNX Runtime pools the blocks of channels that its float convolutions leave many times faster
// than integers with channels first.
#include "lower/forms/quantize_behind_pools.h"

#include "tare/config.h"
#include "tare/graph.h"

#include "simulate/target_operator.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace tare {
namespace {

const Node* producer_of(const Graph& graph, ValueId value, const char* op) {
  const auto producer = graph.producer(value);
  return producer && graph.node(*producer).op == op ? &graph.node(*producer) : nullptr;
}

bool have_one_equal_element(const Graph& graph, ValueId a, ValueId b) {
  const Tensor* first = graph.constant(a);
  const Tensor* second = graph.constant(b);
  return first != nullptr && second != nullptr && first->size() == 1 && *first == *second;
}

/// One scale and one zero point, equal for both.
bool have_equal_parameters(const Graph& graph, const Node& a, const Node& b) {
  constexpr std::size_t kOperands = 3;
  return a.inputs.size() == kOperands && b.inputs.size() == kOperands &&
         have_one_equal_element(graph, a.inputs[1], b.inputs[1]) &&
         have_one_equal_element(graph, a.inputs[2], b.inputs[2]);
}

/// Whether the target computes the node from real values. What its integer kernels compute,
/// between conversions, stays with them.
bool is_in_float(const Graph& graph, const Node& node, const Target& target) {
  return find_operator(target, graph, node) == nullptr ||
         std::none_of(node.inputs.begin(), node.inputs.end(), [&](ValueId operand) {
           return operand && producer_of(graph, operand, "DequantizeLinear") != nullptr;
         });
}

/// What the pool may read instead; absent where it has to read what it reads.
ValueId real_operand(const Graph& graph, const Node& pool, const Target& target) {
  const Node* dequantize = producer_of(graph, pool.inputs[0], "DequantizeLinear");
  const Node* quantize = dequantize == nullptr
                             ? nullptr
                             : producer_of(graph, dequantize->inputs[0], "QuantizeLinear");
  // Others that read these integers take them from where they are.
  if (quantize == nullptr || pool.outputs.size() != 1 ||
      !graph.single_use(dequantize->inputs[0]) || !graph.single_use(pool.inputs[0])) {
    return {};
  }
  const std::vector<NodeId> readers = graph.users(pool.outputs[0]);
  const bool is_quantized_again =
      !readers.empty() && !graph.is_output(pool.outputs[0]) &&
      std::all_of(readers.begin(), readers.end(), [&](NodeId id) {
        const Node& reader = graph.node(id);
        return reader.op == "QuantizeLinear" && have_equal_parameters(graph, reader, *quantize);
      });
  const auto before = graph.producer(quantize->inputs[0]);
  return is_quantized_again && before && is_in_float(graph, graph.node(*before), target)
             ? quantize->inputs[0]
             : ValueId{};
}

}  // namespace

Graph quantize_behind_pools(Graph qdq, const Target& target) {
  for (const NodeId id : qdq.topological_order()) {
    if (qdq.node(id).op != "MaxPool") {
      continue;
    }
    if (const ValueId real = real_operand(qdq, qdq.node(id), target)) {
      qdq.set_input(id, 0, real);
    }
  }
  qdq.erase_unused();
  verify(qdq);
  return qdq;
}

}  // namespace tare
