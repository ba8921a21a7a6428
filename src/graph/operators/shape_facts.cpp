#include "graph/operators/shape_facts.h"

#include <algorithm>

namespace tare {

bool reads_shape_only(const Node& node) {
  return node.op == "Shape" || node.op == "Size";
}

std::optional<Tensor> fact_of_shape(const Node& node, const Shape& shape) {
  if (node.op == "Size") {
    return Tensor::scalar<std::int64_t>(element_count(shape));
  }
  if (node.op != "Shape") {
    return std::nullopt;
  }
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto bound = [&](const char* name, std::int64_t fallback) {
    const std::int64_t axis = node.attributes.integer(name, fallback);
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const std::int64_t start = bound("start", 0);
  const std::int64_t end = std::max(start, bound("end", rank));
  return Tensor::of<std::int64_t>(
      {end - start}, std::vector<std::int64_t>(shape.begin() + start, shape.begin() + end));
}

}  // namespace tare
