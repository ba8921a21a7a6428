#pragma once

#include "tare/config.h"
#include "tare/simulate.h"

#include "simulate/dynamic_product.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tare {

/// What the configuration and the target say about single nodes and values.
class Settings {
 public:
  /// `float_nodes` stay float, whatever else is said; `wide_values` have 16 bits, unless
  /// something else is.
  Settings(const Graph& graph, const Config& config, const Target& target,
           const std::set<std::string>& float_nodes = {},
           const std::set<std::string>& wide_values = {});

  /// From now on rules for the nodes of a region are about its result.
  void join(const Region& region) { rules_.join(*graph_, region.match.nodes()); }
  /// What the layer rules say of the node.
  const LayerRule& rule(const Node&) const;
  /// Whether one of them wants it on integers, whatever that costs.
  bool demands_integers(const Node&) const;
  bool demands_integers(const Region&) const;
  bool keeps_float(const Node&) const;
  /// Who keeps the node in float, for people.
  std::string float_reason(const Node&) const;
  const Target& target() const { return *target_; }
  Objective objective() const { return config_->objective.value_or(target_->objective); }
  /// What the target says of running that node on integers; null when it says nothing.
  const TargetOperator* target_operator(const Node&) const;
  const TargetOperator* costs_of(const Node&) const;
  /// Whether the target has an integer kernel for an operator of the affine allow-list.
  bool runs_on_integers(const Node&) const;
  /// Whether a region runs on integers only when what it computes is quantized.
  bool needs_quantized_result(const Region&) const;
  /// Of a product whose operand is quantized while it runs, its weights. None where the target
  /// has no kernel for that, unless coverage is the objective. Recurrent layers need not be
  /// asked for where the target says that they gain time.
  std::vector<DynamicWeight> dynamic_weights(const Node&) const;
  /// What the target says of the operator that would run it so; null when it says nothing.
  const TargetOperator* dynamic_kernel_costs(const Node&) const;
  /// How many weights of a product share a scale; 0 where it gets no weights in blocks.
  int weight_block(const Node&) const;
  /// Whether no constant may join the accumulator of this product.
  bool adds_bias_after(const Node& product) const;
  bool corrects_bias(const Node&) const;
  bool rounds_weights(const Node&) const;
  /// Whether weights and channels of the node may be scaled against each other.
  bool equalizes(const Node&) const;

  /// Spec and calibrator of an activation that is point_root() of itself.
  QuantPoint activation(ValueId) const;
  /// Of the constant `weight` operand of `node`; `axis` is used where weights are per axis or
  /// in blocks.
  QuantPoint weight(const Node& node, ValueId, int axis) const;

 private:
  /// By the configuration, whatever the target says.
  bool is_kept_float(const Node&) const;
  /// Whether the node's operands are quantized while it runs, if at all.
  bool is_dynamic(const Node&) const;
  /// By the costs of that row, if it has some: enough for latency, any gain of size for others.
  bool pays_dynamically(const Node&, const TargetOperator&) const;
  /// Whether a weight may have any zero point where nobody says: of so few integers each
  /// counts. Bytes have room for it, see centre(). Four bits have none, and a target that says
  /// how many bits weights have multiplies them as they are.
  bool has_free_zero(const QuantSpec& weight) const;
  QuantPoint point(ValueId, Role, const ValueConfig&, const ValueOverride&,
                   DType automatic) const;
  /// The type of an activation whose bits nobody chose.
  DType activation_storage(ValueId, const ValueOverride& own) const;

  const Graph* graph_;
  const Config* config_;
  const Target* target_;
  LayerRules rules_;
  std::set<std::string> float_nodes_;
  std::set<std::string> wide_values_;
  std::map<ValueId, std::string> unquantizable_;     ///< see unquantizable_nodes()
  std::map<std::string, std::string> target_float_;  ///< node and why the target keeps it float
};

}  // namespace tare
