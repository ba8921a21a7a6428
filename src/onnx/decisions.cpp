#include "onnx/decisions.h"

#include "tare/error.h"

#include "graph/ir/subgraph.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tare {

Decisions::Decisions(const Graph& graph, const std::set<ValueId>& decisive,
                     const InferredValues& here, const Evaluator& evaluate,
                     const std::map<ValueId, Tensor>& assumed)
    : evaluate_(evaluate) {
  const std::vector<ValueId> values(decisive.begin(), decisive.end());
  Subgraph part = subgraph(graph, {}, values);
  for (const ValueId id : values) {
    const auto known = here.known.find(id);
    if (known != here.known.end()) {
      decided_.emplace(part.values.at(id), known->second);
    }
  }
  for (const auto& [id, tensor] : assumed) {
    if (const auto found = part.values.find(id); found != part.values.end()) {
      assumed_.emplace(found->second, tensor);
    }
  }
  graph_ = std::move(part.graph);
}

void Decisions::expect_same(const Graph& network, std::span<const Shape> shapes) const {
  std::map<ValueId, Shape> inputs;
  for (const ValueId id : graph_.inputs()) {
    const auto found =
        std::find_if(network.inputs().begin(), network.inputs().end(),
                     [&](ValueId input) { return network.name(input) == graph_.name(id); });
    if (found == network.inputs().end()) {
      return;
    }
    inputs.emplace(id, shapes[static_cast<std::size_t>(found - network.inputs().begin())]);
  }
  const InferredValues there = infer_graph(graph_, inputs, evaluate_, assumed_);
  for (const auto& [id, tensor] : decided_) {
    const auto other = there.known.find(id);
    if (other == there.known.end() || other->second != tensor) {
      throw Error(ErrorCode::kUnsupported, "value '" + graph_.name(id) + "'",
                  "decides which network the model is, and decides otherwise for these inputs");
    }
  }
}

}  // namespace tare
