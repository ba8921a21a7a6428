#include "tare/error.h"
#include "tare/simulate.h"

#include "graph/operators/affine_ops.h"
#include "simulate/check_demands.h"
#include "simulate/region_builder.h"
#include "simulate/target_operator.h"

#include <algorithm>
#include <map>
#include <set>

namespace tare {
namespace {

/// What a graph has that entries of `layers:` may name, operators that nodes took over
/// included.
struct Known {
  std::set<std::string> names;
  std::set<std::string> ops;
};

Known known_in(const Graph& graph) {
  Known result;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    result.names.insert(node.name);
    result.ops.insert(node.op);
    for (const Origin& origin : node.origins) {
      result.names.insert(origin.name);
      result.ops.insert(origin.op);
    }
  }
  return result;
}

std::vector<std::string> list_of(const std::set<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

/// The beginnings of all names that end where a part of the name does: "/layer1/", "block.0.".
std::vector<std::string> beginnings(const std::set<std::string>& names) {
  std::set<std::string> result;
  for (const std::string& name : names) {
    for (std::size_t end = name.find_first_of("/._"); end != std::string::npos;
         end = name.find_first_of("/._", end + 1)) {
      result.insert(name.substr(0, end + 1));
    }
  }
  return list_of(result);
}

/// Of a name that ends with a wildcard, the nearest beginning that some name has.
std::string nearest_name(const std::string& wanted, const std::set<std::string>& names) {
  const std::size_t wildcard = wanted.find_first_of("*?");
  if (wildcard == std::string::npos) {
    return nearest(wanted, list_of(names));
  }
  const std::string beginning = wanted.substr(0, wildcard);
  const std::string near = beginning.empty() ? "" : nearest(beginning, beginnings(names));
  return near.empty() || near == beginning ? "" : near + wanted.substr(wildcard);
}

std::string in_quotes(const std::string& text) {
  return "'" + text + "'";
}

/// What the conditions ask for: "Conv called '/a/*' in 'Relu(Conv)'".
std::string description(const LayerRule& rule) {
  std::string text = rule.op.empty() ? "operator" : rule.op;
  text += rule.name.empty() ? "" : " called " + in_quotes(rule.name);
  text += rule.pattern.empty() ? "" : " in " + in_quotes(rule.pattern);
  text += rule.shape == LayerShape{} ? "" : " of that shape";
  return text;
}

/// What exists and is near to what was asked for; empty when nothing is.
std::string suggestion(const LayerRule& rule, const Known& known) {
  std::string text;
  const auto add = [&](const std::string& near) {
    if (!near.empty()) {
      text += (text.empty() ? "" : ", ") + in_quotes(near);
    }
  };
  if (!rule.op.empty() && !known.ops.contains(rule.op)) {
    add(nearest(rule.op, list_of(known.ops)));
  }
  if (!rule.name.empty() && !known.names.contains(rule.name)) {
    add(nearest_name(rule.name, known.names));
  }
  if (!rule.pattern.empty()) {
    for (const std::string& op : parse_pattern(rule.pattern).root_ops()) {
      if (!known.ops.contains(op)) {
        add(nearest(op, list_of(known.ops)));
      }
    }
  }
  return text;
}

}  // namespace

void check_rules(const Graph& model, const Graph& prepared, const Config& config) {
  const LayerRules rules(prepared, config.layers);
  std::vector<std::size_t> idle;
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    if (!config.layers[i].if_present && !rules.matches(i)) {
      idle.push_back(i);
    }
  }
  if (idle.empty()) {
    return;
  }
  const LayerRules before(model, config.layers);
  const Known known = known_in(prepared);
  Faults faults;
  for (const std::size_t i : idle) {
    const LayerRule& rule = config.layers[i];
    std::string what = "no " + description(rule) + " in the model";
    if (before.matches(i)) {
      what = rule.pattern.empty()
                 ? "preparing the model computes every " + description(rule) + " away"
                 : "no " + description(rule) + " is left in the prepared model";
    }
    const std::string near = suggestion(rule, known);
    faults.add(
        rule_name(config, i), std::move(what),
        (near.empty() ? "" : near + ", or ") + "'if_present: true' where it may be missing");
  }
  faults.raise(ErrorCode::kInvalidConfig);
}

namespace {

/// Whether the entry has a key that LayerRules::demands_integers() looks at.
bool demands(const LayerRule& rule) {
  return rule.keep_float == false || rule.activations.storage || rule.activations.bits ||
         rule.inputs.storage || rule.inputs.bits || rule.weights.storage || rule.weights.bits;
}

/// Names of the nodes that run on integers, are in float only because of others, or have
/// integers for weights.
std::set<std::string> granted_nodes(const SimulatedGraph& simulated) {
  const Graph& graph = simulated.source;
  std::set<std::string> result;
  for (const Region& region : simulated.regions) {
    for (const NodeId id : layer_nodes(graph, region)) {
      result.insert(graph.node(id).name);
    }
  }
  for (const DynamicProduct& product : simulated.dynamic) {
    result.insert(graph.node(product.node).name);
  }
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const bool has_kernel = simulated.target.operators.empty() ||
                            find_operator(simulated.target, graph, node) != nullptr;
    if (has_kernel && find_affine_op(graph, node) != nullptr) {
      result.insert(node.name);
    }
  }
  return result;
}

}  // namespace

void check_demands(const SimulatedGraph& simulated, const Config& config) {
  const Graph& graph = simulated.source;
  const LayerRules rules(graph, config.layers);
  const std::set<std::string> granted = granted_nodes(simulated);
  std::map<std::size_t, NodeId> refused;  // by entry, the first node
  std::set<std::size_t> served;
  for (const NodeId id : graph.nodes()) {
    for (const RuleUse& use : rules.uses(id)) {
      if (!demands(config.layers[use.rule]) || !rules.demands_integers(graph, id)) {
        continue;
      }
      if (granted.contains(graph.node(id).name)) {
        served.insert(use.rule);
      } else {
        refused.emplace(use.rule, id);
      }
    }
  }
  Faults faults;
  for (const auto& [rule, id] : refused) {
    if (served.contains(rule)) {
      continue;
    }
    const Node& node = graph.node(id);
    const auto& kept = simulated.kept_float;
    const auto known = std::find_if(kept.begin(), kept.end(),
                                    [&](const KeptFloat& k) { return k.node == node.name; });
    faults.add(rule_name(config, rule),
               "asks for integers, which " + in_quotes(node.name) + " (" + node.op +
                   ") cannot have: " +
                   (known != kept.end()
                        ? known->reason
                        : "'" + simulated.target.name + "' has no integer kernel for it"),
               "other operators in 'match', or nothing that asks for integers");
  }
  faults.raise(ErrorCode::kInvalidConfig);
}

}  // namespace tare
