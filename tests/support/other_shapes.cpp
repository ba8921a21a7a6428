#include "support/other_shapes.h"

#include <algorithm>
#include <vector>

namespace tare::test {

bool takes(const Graph& graph, const std::map<std::string, Tensor>& inputs) {
  return std::all_of(graph.inputs().begin(), graph.inputs().end(), [&](ValueId id) {
    const auto found = inputs.find(graph.name(id));
    if (found == inputs.end()) {
      return true;
    }
    const Shape& own = graph.type(id).shape;
    const Shape& given = found->second.shape();
    const auto names = graph.dimension_names.find(graph.name(id));
    for (std::size_t axis = 0; axis < own.size(); ++axis) {
      const bool is_open = names != graph.dimension_names.end() && !names->second[axis].empty();
      if (own[axis] != given[axis] && !is_open) {
        return false;
      }
    }
    return true;
  });
}

Graph for_shapes_of(const Graph& graph, std::span<const Tensor> inputs) {
  std::vector<Shape> shapes;
  bool is_same = true;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    shapes.push_back(inputs[i].shape());
    is_same = is_same && shapes[i] == graph.type(graph.inputs()[i]).shape;
  }
  return is_same ? graph : (*graph.reshape)(graph, shapes);
}

}  // namespace tare::test
