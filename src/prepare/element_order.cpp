#include "prepare/element_order.h"

#include "graph/operators/permute.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace tare {

bool keeps_element_order(const Graph& graph, const Node& transpose) {
  const Shape& shape = graph.type(transpose.inputs[0]).shape;
  std::vector<std::int64_t> reversed(shape.size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  std::vector<std::int64_t> order = transpose.attributes.integers("perm", reversed);
  if (!is_permutation(order, shape.size())) {
    return false;
  }
  if (!leaves_extents_open(graph)) {  // axes of 1 may go anywhere
    std::erase_if(
        order, [&](std::int64_t axis) { return shape[static_cast<std::size_t>(axis)] == 1; });
  }
  return std::is_sorted(order.begin(), order.end());
}

}  // namespace tare
