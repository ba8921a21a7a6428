#include "prepare/recurrent_layer.h"

#include "tare/graph.h"

#include <utility>

namespace tare {

std::vector<ValueId> replace_layer(Patch& patch, const Graph& graph, const Node& before,
                                   std::vector<ValueId> operands, std::size_t results) {
  std::vector<NamedType> types;
  for (const ValueId result : before.outputs) {
    types.push_back({types.empty() ? before.name : graph.name(result), graph.type(result)});
  }
  while (types.size() < results) {  // [directions, batch, hidden], one step of the first
    TensorType step = types.front().type;
    step.shape.erase(step.shape.begin());
    types.push_back({before.name + "/last", std::move(step)});
  }
  const std::vector<ValueId> after =
      patch.add_multi(before.op, std::move(operands), std::move(types), before.attributes);
  for (std::size_t i = 0; i < before.outputs.size(); ++i) {
    patch.replace(before.outputs[i], after[i]);
  }
  return after;
}

}  // namespace tare
