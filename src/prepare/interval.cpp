#include "prepare/interval.h"

#include "tare/graph.h"

#include "prepare/constants.h"

namespace tare {

std::optional<Interval> interval_of(const Graph& graph, const Node& node) {
  if (graph.type(node.outputs[0]).dtype != DType::kFloat32) {
    return std::nullopt;
  }
  Interval interval;
  if (node.op == "Relu") {
    interval.low = 0;
    return interval;
  }
  if (node.op != "Clip") {
    return std::nullopt;
  }
  const auto read = [&](std::size_t operand, float& bound) {
    if (operand >= node.inputs.size() || !node.inputs[operand]) {
      return true;
    }
    const auto number = uniform_constant(graph, node.inputs[operand]);
    bound = static_cast<float>(number.value_or(0));
    return number.has_value();
  };
  const bool known = read(1, interval.low) && read(2, interval.high);
  return known && interval.low <= interval.high ? std::optional(interval) : std::nullopt;
}

void clip_in_place(Patch& patch, const Node& node, ValueId x, Interval interval) {
  if (interval.is_everything()) {
    patch.replace(node.outputs[0], x);
    return;
  }
  if (interval.is_relu()) {
    patch.replace_node(node, "Relu", {x});
    return;
  }
  std::vector<ValueId> inputs{x};
  if (interval.low != Interval().low) {
    inputs.push_back(patch.add_constant(node.name + "/low", Tensor::scalar(interval.low)));
  }
  if (interval.high != Interval().high) {
    inputs.resize(2);
    inputs.push_back(patch.add_constant(node.name + "/high", Tensor::scalar(interval.high)));
  }
  patch.replace_node(node, "Clip", inputs);
}

}  // namespace tare
