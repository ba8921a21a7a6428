
#include "tare/pattern.h"

#include "graph/operators/affine_ops.h"
#include "graph/operators/product.h"
#include "simulate/layer_shapes.h"
#include "simulate/region_builder.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace tare {
namespace {

template <class T>
void put(const std::optional<T>& from, std::optional<T>& onto) {
  if (from) {
    onto = from;
  }
}

void put(const ValueOverride& from, ValueOverride& onto) {
  put(from.storage, onto.storage);
  put(from.symmetric, onto.symmetric);
  put(from.narrow, onto.narrow);
  put(from.power_of_two, onto.power_of_two);
  put(from.bits, onto.bits);
  put(from.block, onto.block);
  put(from.granularity, onto.granularity);
  put(from.calibrator, onto.calibrator);
  put(from.dynamic, onto.dynamic);
}

void put(const LayerRule& from, LayerRule& onto) {
  if (from.keep_float) {
    onto.keep_float = from.keep_float;
    onto.because = from.because;
  }
  put(from.equalization, onto.equalization);
  put(from.bias_correction, onto.bias_correction);
  put(from.rounding, onto.rounding);
  put(from.requantize.rounding, onto.requantize.rounding);
  put(from.requantize.arithmetic, onto.requantize.arithmetic);
  put(from.requantize.bias_after, onto.requantize.bias_after);
  put(from.accumulator.bits, onto.accumulator.bits);
  put(from.accumulator.overflow, onto.accumulator.overflow);
  put(from.activations, onto.activations);
  put(from.inputs, onto.inputs);
  put(from.weights, onto.weights);
}

/// What the node matches the conditions of `rule` on names and operators as.
std::optional<Origin> matched_as(const LayerRule& rule, const Node& node) {
  const auto holds = [&](const std::string& name, const std::string& op) {
    return (rule.op.empty() || rule.op == op) &&
           (rule.name.empty() || glob_match(rule.name, name));
  };
  if (holds(node.name, node.op)) {
    return Origin{node.name, node.op};
  }
  const auto found =
      std::find_if(node.origins.begin(), node.origins.end(),
                   [&](const Origin& origin) { return holds(origin.name, origin.op); });
  return found == node.origins.end() ? std::nullopt : std::optional(*found);
}

/// The nodes that a rule may match: rules that name one node do not look at all of them.
class Candidates {
 public:
  explicit Candidates(const Graph& graph) : graph_(graph), all_(graph.nodes()) {
    for (const NodeId id : all_) {
      const Node& node = graph.node(id);
      by_name_.emplace(node.name, id);
      for (const Origin& origin : node.origins) {
        by_name_.emplace(origin.name, id);
      }
    }
  }

  std::vector<NodeId> of(const LayerRule& rule) const {
    if (!rule.pattern.empty()) {
      return matched(parse_pattern(rule.pattern));
    }
    if (rule.name.empty() || rule.name.find_first_of("*?") != std::string::npos) {
      return all_;
    }
    std::set<NodeId> result;
    const auto [first, last] = by_name_.equal_range(rule.name);
    for (auto entry = first; entry != last; ++entry) {
      result.insert(entry->second);
    }
    return {result.begin(), result.end()};
  }

 private:
  std::vector<NodeId> matched(const Pattern& pattern) const {
    std::set<NodeId> result;
    for (const NodeId id : all_) {
      if (const auto match = pattern.match(graph_, id)) {
        result.insert(match->nodes().begin(), match->nodes().end());
      }
    }
    return {result.begin(), result.end()};
  }

  const Graph& graph_;
  std::vector<NodeId> all_;
  std::multimap<std::string_view, NodeId> by_name_;
};

/// Whether a value is computed by one node and read by another that fuses with it, so that it
/// has no parameters.
bool is_inside_a_layer(const Graph& graph, ValueId value) {
  return graph.producer(value) && point_root(graph, value) == value &&
         graph.single_use(value) &&
         is_fused_activation(graph, graph.node(graph.users(value)[0]));
}

/// The value that a result has its parameters from, or gives them to.
ValueId governed(const Graph& graph, ValueId result) {
  while (is_inside_a_layer(graph, result)) {
    result = graph.node(graph.users(result)[0]).outputs[0];
  }
  return point_root(graph, result);
}

std::vector<ValueId> each_once(std::vector<ValueId> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

}  // namespace

std::vector<ValueId> LayerRules::read(const Graph& graph, const Node& node) {
  std::vector<ValueId> result;
  for (const ValueId input : node.inputs) {
    if (input && graph.constant(input) == nullptr && !is_inside_a_layer(graph, input)) {
      result.push_back(point_root(graph, input));
    }
  }
  return each_once(std::move(result));
}

std::vector<ValueId> LayerRules::computed(const Graph& graph, const Node& node) {
  std::vector<ValueId> result;
  for (const ValueId output : node.outputs) {
    result.push_back(governed(graph, output));
  }
  return each_once(std::move(result));
}

LayerRules::LayerRules(const Graph& graph, const std::vector<LayerRule>& rules)
    : rules_(&rules), matching_(rules.size(), false) {
  if (rules.empty()) {
    return;
  }
  const Candidates candidates(graph);
  const LayerShapes shapes(graph);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    for (const NodeId id : candidates.of(rules[i])) {
      if (!shapes.match(rules[i].shape, id)) {
        continue;
      }
      if (const auto origin = matched_as(rules[i], graph.node(id))) {
        matching_[i] = true;
        node_uses_[id].push_back({i, RulePart::kLayer, id, *origin});
        put(rules[i], nodes_[id]);
      }
    }
  }
  for (const auto& [id, uses] : node_uses_) {
    add_values(graph, id, uses);
  }
  for (const auto& [value, uses] : value_uses_) {
    merge(value);
  }
}

void LayerRules::merge(ValueId value) {
  std::vector<RuleUse>& uses = value_uses_.at(value);
  std::stable_sort(uses.begin(), uses.end(), [](const RuleUse& a, const RuleUse& b) {
    const auto rank = [](const RuleUse& use) {
      return std::pair(use.rule, use.part == RulePart::kActivations);
    };
    return rank(a) < rank(b);
  });
  ValueOverride& merged = values_[value];
  merged = {};
  for (const RuleUse& use : uses) {
    const LayerRule& rule = (*rules_)[use.rule];
    put(use.part == RulePart::kInputs ? rule.inputs : rule.activations, merged);
  }
}

void LayerRules::join(const Graph& graph, const std::vector<NodeId>& layer) {
  const std::vector<ValueId> results = computed(graph, graph.node(layer.front()));
  for (std::size_t i = 1; i < layer.size(); ++i) {
    for (RuleUse use : uses(layer[i])) {
      if ((*rules_)[use.rule].activations == ValueOverride{}) {
        continue;
      }
      use.part = RulePart::kActivations;
      for (const ValueId value : results) {
        value_uses_[value].push_back(use);
        merge(value);
      }
    }
  }
}

void LayerRules::add_values(const Graph& graph, NodeId id, const std::vector<RuleUse>& uses) {
  const Node& node = graph.node(id);
  for (RuleUse use : uses) {
    const LayerRule& rule = (*rules_)[use.rule];
    if (rule.activations != ValueOverride{}) {
      use.part = RulePart::kActivations;
      for (const ValueId value : computed(graph, node)) {
        value_uses_[value].push_back(use);
      }
    }
    if (rule.inputs != ValueOverride{}) {
      use.part = RulePart::kInputs;
      for (const ValueId value : read(graph, node)) {
        value_uses_[value].push_back(use);
      }
    }
  }
}

namespace {

template <class Map, class Key>
const typename Map::mapped_type& entry_of(const Map& map, const Key& key) {
  static const typename Map::mapped_type none;
  const auto found = map.find(key);
  return found == map.end() ? none : found->second;
}

}  // namespace

const LayerRule& LayerRules::of(NodeId id) const {
  return entry_of(nodes_, id);
}

const ValueOverride& LayerRules::of(ValueId value) const {
  return entry_of(values_, value);
}

const std::vector<RuleUse>& LayerRules::uses(NodeId id) const {
  return entry_of(node_uses_, id);
}

const std::vector<RuleUse>& LayerRules::uses(ValueId value) const {
  return entry_of(value_uses_, value);
}

bool LayerRules::demands_integers(const Graph& graph, NodeId id) const {
  const LayerRule& rule = of(id);
  if (rule.keep_float) {
    return !*rule.keep_float;
  }
  const bool of_weights = rule.weights.storage || rule.weights.bits;
  return rule.activations.storage || rule.activations.bits || rule.inputs.storage ||
         rule.inputs.bits || (of_weights && is_product(graph.node(id)));
}

}  // namespace tare
