// A change to a graph that is described first and applied as a whole, or not at all. What it
// makes unused is erased upwards from there, so no sweep over the graph is needed.
#include "tare/graph.h"
#include "tare/pattern.h"

#include "base/check.h"

#include <algorithm>

namespace tare {
namespace {

/// Handles of added values have this bit set until the patch is applied.
constexpr std::uint32_t kAdded = 1U << 31U;

bool is_added(ValueId id) {
  return id && (id.index & kAdded) != 0;
}

bool is_unread(const Graph& graph, ValueId id) {
  return graph.users(id).empty() && !graph.is_output(id);
}

/// Erases what computed `start` as far as nothing else reads it, upwards.
void erase_from(Graph& graph, ValueId start, std::vector<Patch::Erased>* erased) {
  std::vector<ValueId> pending{start};
  while (!pending.empty()) {
    const ValueId id = pending.back();
    pending.pop_back();
    if (!is_unread(graph, id)) {
      continue;
    }
    if (graph.constant(id) != nullptr) {
      graph.erase(id);
      continue;
    }
    const std::optional<NodeId> producer = graph.producer(id);
    if (!producer || !graph.alive(*producer)) {
      continue;
    }
    const Node node = graph.node(*producer);
    if (std::all_of(node.outputs.begin(), node.outputs.end(),
                    [&](ValueId output) { return is_unread(graph, output); })) {
      graph.erase(*producer);
      if (erased != nullptr) {
        erased->emplace_back(*producer, node);
      }
      std::copy_if(node.inputs.begin(), node.inputs.end(), std::back_inserter(pending),
                   [](ValueId input) { return static_cast<bool>(input); });
    }
  }
}

}  // namespace

ValueId Patch::next_value(const TensorType& type) {
  added_types_.push_back(type);
  return {kAdded | static_cast<std::uint32_t>(added_types_.size() - 1)};
}

ValueId Patch::add(std::string op, std::vector<ValueId> inputs, TensorType type,
                   std::string name, Attributes attributes) {
  return add_multi(std::move(op), std::move(inputs), {{std::move(name), std::move(type)}},
                   std::move(attributes))
      .front();
}

std::vector<ValueId> Patch::add_multi(std::string op, std::vector<ValueId> inputs,
                                      std::vector<NamedType> results, Attributes attributes) {
  check(!op.empty() && !results.empty(), "a node needs an operator and a result");
  std::vector<ValueId> values;
  for (const NamedType& result : results) {
    values.push_back(next_value(result.type));
  }
  steps_.push_back({std::move(op), std::move(inputs), std::move(results), std::move(attributes),
                    std::nullopt});
  return values;
}

ValueId Patch::add_constant(std::string name, Tensor tensor) {
  TensorType type{.dtype = tensor.dtype(), .shape = tensor.shape(), .quant = {}, .point = {}};
  return add_constant(std::move(name), std::move(tensor), std::move(type));
}

ValueId Patch::add_constant(std::string name, Tensor tensor, TensorType type) {
  const ValueId id = next_value(type);
  steps_.push_back({{}, {}, {{std::move(name), std::move(type)}}, {}, std::move(tensor)});
  return id;
}

void Patch::replace(ValueId before, ValueId after) {
  check(type(before).dtype == type(after).dtype && type(before).shape == type(after).shape,
        "a patch replaces a value by one of another type");
  replacements_.emplace_back(before, after);
}

void Patch::replace_node(const Node& before, std::string op, std::vector<ValueId> inputs,
                         Attributes attributes) {
  const ValueId result = before.outputs.front();
  replace(result, add(std::move(op), std::move(inputs), type(result), before.name,
                      std::move(attributes)));
}

const TensorType& Patch::type(ValueId id) const {
  return is_added(id) ? added_types_.at(id.index & ~kAdded) : graph_->type(id);
}

bool Patch::adds_constant(ValueId added) const {
  std::size_t values = 0;
  for (const Step& step : steps_) {
    values += step.results.size();
    if ((added.index & ~kAdded) < values) {
      return step.constant.has_value();
    }
  }
  return false;
}

std::string Patch::broken_interface() const {
  for (const auto& [before, after] : replacements_) {
    if (!graph_->is_output(before)) {
      continue;
    }
    const std::string output = "graph output '" + graph_->name(before) + "' would be ";
    if (is_added(after)) {
      if (adds_constant(after)) {
        return output + "a constant";
      }
    } else if (graph_->is_input(after) || graph_->is_output(after) ||
               graph_->constant(after) != nullptr) {
      return output + "'" + graph_->name(after) + "' itself";
    }
  }
  return {};
}

std::vector<ValueId> Patch::stand_ins(const std::vector<ValueId>& added) const {
  std::vector<ValueId> result;
  auto value = added.begin();
  for (const Step& step : steps_) {
    if (!step.constant) {
      result.push_back(*value);
    }
    value += static_cast<std::ptrdiff_t>(step.results.size());
  }
  if (result.empty()) {
    for (const auto& [before, after] : replacements_) {
      if (!is_added(after)) {
        result.push_back(after);
      }
    }
  }
  return result;
}

std::vector<ValueId> Patch::apply(Graph& graph, std::vector<Erased>* erased) const {
  std::vector<ValueId> added;
  const auto resolved = [&](ValueId id) {
    return is_added(id) ? added.at(id.index & ~kAdded) : id;
  };
  std::vector<NodeId> nodes;
  for (const Step& step : steps_) {
    if (step.constant) {
      const NamedType& result = step.results.front();
      added.push_back(
          graph.add_constant(graph.unique_name(result.name), *step.constant, result.type));
      continue;
    }
    std::vector<ValueId> inputs;
    std::transform(step.inputs.begin(), step.inputs.end(), std::back_inserter(inputs),
                   resolved);
    std::vector<NamedType> results = step.results;
    for (NamedType& result : results) {
      result.name = graph.unique_name(result.name);
    }
    nodes.push_back(graph.add_node({}, step.op, std::move(inputs), results, step.attributes));
    const Node& node = graph.node(nodes.back());
    added.insert(added.end(), node.outputs.begin(), node.outputs.end());
  }
  std::vector<ValueId> named;
  for (const auto& [before, after] : replacements_) {
    const std::string name = graph.name(before);
    graph.replace_uses(before, resolved(after));
    if (is_added(after) &&
        std::find(named.begin(), named.end(), resolved(after)) == named.end()) {
      graph.rename(resolved(after), name);
      named.push_back(resolved(after));
    }
  }
  for (const auto& [before, after] : replacements_) {
    erase_from(graph, before, erased);
  }
  auto value = added.begin();
  auto node = nodes.begin();
  for (const Step& step : steps_) {
    for (const NamedType& result : step.results) {
      const bool keeps = std::find(named.begin(), named.end(), *value) != named.end();
      if (!keeps && !graph.find_value(result.name)) {
        graph.rename(*value, result.name);
      }
      ++value;
    }
    if (!step.constant) {
      graph.rename(*node++, step.results.front().name);
    }
  }
  return added;
}

}  // namespace tare
