#include "simulate/settings.h"

#include <algorithm>

namespace tare {

const LayerRule* Settings::rule(const Node& node) const {
  for (const LayerRule& candidate : config_->layers) {
    const bool op_fits = candidate.op.empty() || candidate.op == node.op;
    if (op_fits && (candidate.name.empty() || glob_match(candidate.name, node.name))) {
      return &candidate;
    }
  }
  return nullptr;
}

bool Settings::runs_on_integers(const Node& node) const {
  const auto& known = target_->integer_operators;
  return std::find(known.begin(), known.end(), node.op) != known.end();
}

bool Settings::keeps_float(const Node& node) const {
  const LayerRule* found = rule(node);
  return found != nullptr && found->keep_float;
}

QuantPoint Settings::activation(ValueId value) const {
  const auto overrides = [this](NodeId id) -> const ValueOverride* {
    const LayerRule* found = rule(graph_->node(id));
    return found != nullptr && found->activations != ValueOverride{} ? &found->activations
                                                                     : nullptr;
  };
  const ValueOverride* chosen = nullptr;
  if (const auto producer = graph_->producer(value)) {
    chosen = overrides(*producer);
  }
  for (const NodeId user : graph_->users(value)) {
    chosen = chosen != nullptr ? chosen : overrides(user);
  }
  QuantPoint result = point(value, Role::kActivation, config_->activations, chosen,
                            target_->activation_storage);
  result.spec.symmetric = result.spec.symmetric || target_->activation_symmetric;
  return result;
}

QuantPoint Settings::weight(const Node& node, ValueId value, int axis) const {
  const LayerRule* found = rule(node);
  QuantPoint result =
      point(value, Role::kWeight, config_->weights,
            found != nullptr ? &found->weights : nullptr, target_->weight_storage);
  result.spec.axis = result.spec.granularity == Granularity::kPerAxis ? axis : 0;
  return result;
}

QuantPoint Settings::point(ValueId value, Role role, const ValueConfig& general,
                           const ValueOverride* special, DType automatic) const {
  const ValueOverride none;
  const ValueOverride& own = special != nullptr ? *special : none;
  QuantPoint result;
  result.name = graph_->name(value);
  result.value = value;
  result.role = role;
  result.spec.storage = own.storage.value_or(general.storage.value_or(automatic));
  result.spec.granularity = own.granularity.value_or(general.granularity);
  result.spec.symmetric = own.symmetric.value_or(general.symmetric);
  result.spec.narrow_range = own.narrow.value_or(general.narrow);
  result.spec.power_of_two = own.power_of_two.value_or(general.power_of_two);
  result.calibrator = own.calibrator.value_or(general.calibrator);
  return result;
}

}  // namespace tare
