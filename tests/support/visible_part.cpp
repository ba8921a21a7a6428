#include "support/visible_part.h"

#include <algorithm>

namespace tare::test {

std::string other_operand(const Graph& graph, const std::string& value) {
  const auto only_reader = [&](ValueId id) -> const Node* {
    const auto& users = graph.users(id);
    return users.size() == 1 && !graph.is_output(id) ? &graph.node(users[0]) : nullptr;
  };
  const ValueId id = *graph.find_value(value);
  const Node* sum = only_reader(id);
  if (sum == nullptr || sum->op != "Add") {
    return "";
  }
  const Node* relu = only_reader(sum->outputs[0]);
  const ValueId other = sum->inputs[0] == id ? sum->inputs[1] : sum->inputs[0];
  const bool is_rectified = relu != nullptr && relu->op == "Relu" &&
                            graph.constant(other) == nullptr &&
                            graph.type(other).shape == graph.type(id).shape;
  return is_rectified ? graph.name(other) : "";
}

Tensor visible_part(const Tensor& value, const Tensor& other) {
  Tensor result = value;
  const auto others = other.view<float>();
  const auto results = result.mutable_view<float>();
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i] = std::max(results[i], -std::max(others[i], 0.0F));
  }
  return result;
}

}  // namespace tare::test
