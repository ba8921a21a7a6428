#include "simulate/target_operator.h"

#include "tare/graph.h"

#include <algorithm>

namespace tare {
namespace {

/// A constant, in a quantized graph behind its conversion.
bool is_weight(const Graph& graph, ValueId value) {
  const auto producer = graph.producer(value);
  const bool is_converted = producer && (graph.node(*producer).op == "Dequantize" ||
                                         graph.node(*producer).op == "DequantizeLinear");
  return graph.constant(is_converted ? graph.node(*producer).inputs[0] : value) != nullptr;
}

constexpr const char* kAnyOperator = "*";

bool is_of_rank(const Graph& graph, const Node& node, std::size_t rank) {
  return graph.type(node.inputs[0]).shape.size() == rank;
}

bool is_sequence(const Graph& graph, const Node& node) {
  return is_of_rank(graph, node, 3);
}

bool is_depthwise(const Graph& graph, const Node& node) {
  return graph.type(node.inputs[1]).shape[1] == 1 && node.attributes.integer("group", 1) > 1;
}

/// Of sequences, or with channels that are not divisible by that.
bool is_ragged_depthwise(const Graph& graph, const Node& node, std::int64_t divisor) {
  return is_depthwise(graph, node) &&
         (is_sequence(graph, node) || graph.type(node.inputs[1]).shape[0] % divisor != 0);
}

bool is_kind(const Graph& graph, const Node& node, NodeKind kind) {
  constexpr std::int64_t kFewChannels = 8;
  constexpr std::int64_t kPadded = 4;
  constexpr std::int64_t kAtOnce = 16;
  switch (kind) {
    case NodeKind::kAny:
      return true;
    case NodeKind::kDepthwise:
      return is_depthwise(graph, node);
    case NodeKind::kOddDepthwise:
      return is_ragged_depthwise(graph, node, kPadded);
    case NodeKind::kRaggedDepthwise:
      return is_ragged_depthwise(graph, node, kAtOnce);
    case NodeKind::kSequence:
      return is_sequence(graph, node);
    case NodeKind::kVolume:
      return is_of_rank(graph, node, 5);
    case NodeKind::kGrouped:
      return node.attributes.integer("group", 1) > 1 && !is_depthwise(graph, node);
    case NodeKind::kFewChannels:
      return graph.type(node.inputs[1]).shape[1] < kFewChannels;
    case NodeKind::kActivations:
      return !is_weight(graph, node.inputs[1]);
  }
  return false;
}

/// `Row` is TargetOperator or OperatorAccumulator.
template <class Row>
const Row* find(const std::vector<Row>& rows, const Graph& graph, const Node& node) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
    return (row.op == node.op || row.op == kAnyOperator) && is_kind(graph, node, row.only);
  });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

const TargetOperator* find_operator(const Target& target, const Graph& graph,
                                    const Node& node) {
  return find(target.operators, graph, node);
}

const TargetOperator* find_costs(const Target& target, const Graph& graph, const Node& node) {
  for (const ProcessorCosts& processor : target.processors) {
    if (processor.name == target.processor) {
      return find(processor.costs, graph, node);
    }
  }
  return find(target.operators.empty() ? target.costs : target.operators, graph, node);
}

bool has_wide_kernels(const Target& target) {
  return !target.wide_activations.empty() && target.operators.empty();
}

AccumulatorConfig operator_accumulator(const Target& target, const Graph& graph,
                                       const Node& node) {
  const OperatorAccumulator* row = find(target.accumulators, graph, node);
  return row == nullptr ? AccumulatorConfig{} : row->accumulator;
}

}  // namespace tare
