// Puts together what a configuration and a target say of sums of products. Linear in the graph.
#include "tare/simulate.h"

#include "graph/operators/product.h"
#include "simulate/target_operator.h"

#include <algorithm>

namespace tare {
namespace {

/// The first that says something.
template <class T>
std::optional<T> first_of(std::initializer_list<std::optional<T>> all) {
  const auto found =
      std::find_if(all.begin(), all.end(), [](const std::optional<T>& one) { return one; });
  return found == all.end() ? std::nullopt : *found;
}

/// An arithmetic belongs to the rounding that it was said with.
RequantizeMode mode_of(std::initializer_list<RequantizeConfig> all) {
  std::optional<RequantizeArithmetic> arithmetic;
  for (const RequantizeConfig& one : all) {
    arithmetic = arithmetic ? arithmetic : one.arithmetic;
    if (one.rounding) {
      return requantize_mode(*one.rounding, arithmetic);
    }
  }
  return requantize_mode(RequantizeMode{}.rounding, arithmetic);
}

Accumulator accumulator_of(std::initializer_list<AccumulatorConfig> all) {
  Accumulator result;
  std::optional<int> bits;
  std::optional<Overflow> overflow;
  for (const AccumulatorConfig& one : all) {
    bits = first_of({bits, one.bits});
    overflow = first_of({overflow, one.overflow});
  }
  return {bits.value_or(result.bits), overflow.value_or(result.overflow)};
}

}  // namespace

NetworkArithmetic network_arithmetic(const Graph& graph, const Config& config,
                                     const Target& target) {
  NetworkArithmetic result;
  result.usual = {accumulator_of({config.accumulator, target.accumulator}),
                  mode_of({config.requantize, target.requantize})};
  const LayerRules rules(graph, config.layers);
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (!is_product(node)) {
      continue;
    }
    const LayerRule& rule = rules.of(id);
    const SumArithmetic own{
        accumulator_of({rule.accumulator, config.accumulator,
                        operator_accumulator(target, graph, node), target.accumulator}),
        mode_of({rule.requantize, config.requantize, target.requantize})};
    if (own != result.usual) {
      result.layers.emplace(node.name, own);
    }
  }
  return result;
}

}  // namespace tare
