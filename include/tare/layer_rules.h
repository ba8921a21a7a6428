#pragma once

#include "tare/config.h"
#include "tare/graph.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tare {

struct SimulatedGraph;

/// Which keys of an entry of `layers:` count somewhere.
enum class RulePart : std::uint8_t {
  kLayer,        ///< those of the operator itself: keep_float, weights, accuracy, dynamic
  kActivations,  ///< of a value that it computes
  kInputs,       ///< of a value that it reads
};

/// That an entry of `layers:` says something.
struct RuleUse {
  std::size_t rule = 0;  ///< index into Config::layers
  RulePart part = RulePart::kLayer;
  NodeId node;    ///< the node that it matches
  Origin origin;  ///< as what: the node itself, or an operator that it took over
};

/// `layers:` of a configuration, applied to a prepared graph.
///
/// An entry matches a node by what it is and by the operators that it took over
/// (Node::origins). `activations` governs the value that the node computes: behind the Relu
/// and Clip that fuse with it, and before operators that only move elements, which have the
/// parameters of what they move. `inputs` governs the values that it reads, in the same sense;
/// an activation that fuses with what it reads has none.
/// Where several entries say something of one node or value, each key counts as the last of
/// them says that has it; where one entry says it both ways, as `activations` says.
class LayerRules {
 public:
  LayerRules(const Graph&, const std::vector<LayerRule>&);

  /// Nodes that are quantized as one, the one that computes their result first: `activations`
  /// of each is about that result.
  void join(const Graph&, const std::vector<NodeId>& layer);

  /// All that match the node, put together.
  const LayerRule& of(NodeId) const;
  /// All that say something of a value, which is point_root() of itself, put together.
  const ValueOverride& of(ValueId) const;
  /// Whether some entry has `keep_float: false`, a type or a number of bits for the node, and
  /// none that counts keeps it in float.
  bool demands_integers(const Graph&, NodeId) const;

  /// By whom, in the order in which they count.
  const std::vector<RuleUse>& uses(NodeId) const;
  const std::vector<RuleUse>& uses(ValueId) const;
  /// The values that `activations` and `inputs` of a node are about, each once.
  static std::vector<ValueId> computed(const Graph&, const Node&);
  static std::vector<ValueId> read(const Graph&, const Node&);

  /// Whether the entry matches anything.
  bool matches(std::size_t rule) const { return matching_.at(rule); }

 private:
  void add_values(const Graph&, NodeId, const std::vector<RuleUse>&);
  void merge(ValueId);

  const std::vector<LayerRule>* rules_;
  std::vector<bool> matching_;
  std::map<NodeId, std::vector<RuleUse>> node_uses_;
  std::map<ValueId, std::vector<RuleUse>> value_uses_;
  std::map<NodeId, LayerRule> nodes_;
  std::map<ValueId, ValueOverride> values_;
};

/// Throws Error(kInvalidConfig) with every entry of `layers:` that matches nothing, unless it
/// may, and the nearest names and operators. `model` is what was prepared: what it has and
/// `prepared` has no more is said to have been computed away.
void check_rules(const Graph& model, const Graph& prepared, const Config&);

/// Throws Error(kInvalidConfig) with every entry that demands integers for operators of which
/// the target can run none on integers, and why.
void check_demands(const SimulatedGraph&, const Config&);

}  // namespace tare
