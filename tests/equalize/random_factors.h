#pragma once

#include "tare/quant_table.h"

#include "graph/operators/product.h"
#include "support/random/random.h"

#include <cmath>

namespace tare::test {

/// Powers of two, with which scaling is exact, for half of the layers.
inline ChannelFactors random_factors(const Graph& graph, Random& random) {
  ChannelFactors result;
  for (const NodeId id : graph.nodes()) {
    const ValueId y = graph.node(id).outputs[0];
    const Shape& shape = graph.type(y).shape;
    if (is_product(graph.node(id)) && shape.size() > 1 && random.coin()) {
      std::vector<float>& factors = result[graph.name(y)];
      for (std::int64_t c = 0; c < shape[1]; ++c) {
        factors.push_back(std::ldexp(1.0F, static_cast<int>(random.integer(-4, 1))));
      }
    }
  }
  return result;
}

}  // namespace tare::test
