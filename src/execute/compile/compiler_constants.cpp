// Constants that are not those of the graph: weights as real values, and what follows from
// shapes.
#include "tare/arithmetic.h"
#include "tare/error.h"
#include "tare/graph.h"

#include "execute/compile/compiler.h"
#include "graph/operators/shape_facts.h"

#include <algorithm>

namespace tare {
namespace {

/// What is computed from shapes and has more elements is computed in each run.
constexpr std::int64_t kMostShapeElements = 4096;

}  // namespace

/// Once and for all, so that kernels can make themselves ready for the result; whether it is
/// such a conversion.
bool Compiler::convert_constant(const Node& node) {
  const bool has_operand = !node.inputs.empty() && node.inputs[0];
  const Tensor* from = has_operand ? constant(node.inputs[0]) : nullptr;
  const auto params = [&](ValueId value) { return graph_.type(value).quant; };
  if (from == nullptr) {
    return false;
  }
  const ValueId result = node.outputs[0];
  if (node.op == "SimulatedQuantize" && params(result)) {
    const Tensor stored = quantize(*from, *params(result));
    converted_.emplace(result, Tensor::of<float>(stored.shape(), stored.to_float()));
    return true;
  }
  const bool is_simulated = node.op == "SimulatedDequantize";
  if ((!is_simulated && node.op != "Dequantize") || !params(node.inputs[0])) {
    return false;
  }
  QuantParams unit;
  unit.storage = params(node.inputs[0])->storage;
  converted_.emplace(result, dequantize(is_simulated ? quantize(*from, unit) : *from,
                                        *params(node.inputs[0])));
  return true;
}

/// What is computed from shapes is known before anything runs, so that operators may want
/// constants where models compute them; whether it is such a node.
bool Compiler::follow_shapes(const Node& node) try {
  if (node.inputs.empty() || !node.inputs[0]) {
    return false;
  }
  if (auto fact = fact_of_shape(node, graph_.type(node.inputs[0]).shape)) {
    from_shapes_.insert(node.outputs[0]);
    converted_.emplace(node.outputs[0], *std::move(fact));
    return true;
  }
  const auto is_known = [&](ValueId id) { return !id || constant(id) != nullptr; };
  const auto follows = [&](ValueId id) { return from_shapes_.contains(id); };
  const auto is_small = [&](ValueId id) {
    const TensorType& type = graph_.type(id);
    return !type.quant && element_count(type.shape) <= kMostShapeElements;
  };
  if (!std::any_of(node.inputs.begin(), node.inputs.end(), follows) ||
      !std::all_of(node.inputs.begin(), node.inputs.end(), is_known) ||
      !std::all_of(node.outputs.begin(), node.outputs.end(), is_small)) {
    return false;
  }
  std::vector<const Tensor*> operands;
  for (const ValueId input : node.inputs) {
    operands.push_back(input ? constant(input) : nullptr);
  }
  std::vector<TensorType> types;
  for (const ValueId output : node.outputs) {
    types.push_back(graph_.type(output));
  }
  std::vector<Tensor> results = evaluate(node, operands, types);
  for (std::size_t i = 0; i < results.size(); ++i) {
    from_shapes_.insert(node.outputs[i]);
    converted_.emplace(node.outputs[i], std::move(results[i]));
  }
  return true;
} catch (Error& error) {
  if (error.code() == ErrorCode::kUnsupported) {
    return false;
  }
  error.at(describe(node));
  throw;
}

const Tensor* Compiler::constant(ValueId id) const {
  const auto found = converted_.find(id);
  return found == converted_.end() ? graph_.constant(id) : &found->second;
}

Compiler::ConstantKey Compiler::constant_key(ValueId id) const {
  const Tensor* const of_graph = id ? graph_.constant(id) : nullptr;
  if (of_graph != nullptr) {
    return {of_graph->data(), {}};
  }
  return {nullptr, converted_.contains(id) ? id : ValueId{}};
}

void Compiler::count_readers(std::span<const Unit> units, const std::set<ValueId>& kept) {
  const auto count = [this](const Node& node) {
    for (const ValueId input : node.inputs) {
      ++readers_[input];
    }
  };
  for (const Unit& unit : units) {
    count(graph_.node(unit.node));
    for (const NodeId id : unit.folded) {
      count(graph_.node(id));
    }
  }
  for (const ValueId value : kept) {
    ++readers_[value];
  }
}

/// Forgets converted constants that only this node has yet to read: kernels packed them, or the
/// program has them. Otherwise those of all layers would be there at once.
void Compiler::release(const Node& node) {
  for (const ValueId input : node.inputs) {
    if (--readers_.at(input) == 0) {
      converted_.erase(input);
    }
  }
}

}  // namespace tare
