#include "tare/graph.h"
#include "tare/integer_graph.h"

#include "graph/operators/product.h"

#include <algorithm>

namespace tare {

std::vector<AccumulatorRange> worst_case_accumulators(const Graph& integer) {
  std::vector<AccumulatorRange> result;
  for (const NodeId id : integer.topological_order()) {
    const Node& node = integer.node(id);
    if (!is_integer_product(integer, node)) {
      continue;
    }
    const bool has_bias = node.inputs.size() > 2 && node.inputs[2];
    SumRange all;
    for (const SumRange& sum :
         worst_case_accumulators(ProductOperands{.node = &node,
         .x = &integer.type(node.inputs[0]),
         .w = &integer.type(node.inputs[1]),
         .weights = integer.constant(node.inputs[1]),
         .bias = has_bias ? integer.constant(node.inputs[2]) : nullptr})) {
      all = {std::min(all.low, sum.low), std::max(all.high, sum.high)};
    }
    result.push_back({id, all});
  }
  return result;
}

}  // namespace tare
