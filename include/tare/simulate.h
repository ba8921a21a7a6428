#pragma once

#include "tare/arithmetic.h"
#include "tare/config.h"
#include "tare/graph.h"
#include "tare/pattern.h"
#include "tare/process.h"
#include "tare/quant_table.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tare {

/// One place where a pattern matched and was accepted.
struct Region {
  const QuantPattern* pattern = nullptr;
  Match match;
  /// Names of the points that the region reads or writes; it is quantized when all are enabled.
  std::vector<std::string> points;
  /// The value (of the source graph, after fusing activations) that every reader sees
  /// quantized, because the target's integer kernel needs a quantized output. Absent when it
  /// does not.
  ValueId quantized_result;
};

/// Where a pattern matched but the node stays float, and why.
struct KeptFloat {
  std::string node;
  std::string reason;    ///< in the same words for all nodes that it holds for
  std::string detail{};  ///< numbers to it; may be empty
};

/// A product of constant weights whose other operand gets parameters while the network runs, or
/// a recurrent layer of such products.
struct DynamicProduct {
  NodeId node;                       ///< of the source graph
  std::vector<std::string> weights;  ///< their points, in the order of operands
};

/// Whether the table enables all of its weights.
bool is_enabled(const DynamicProduct&, const QuantTable&);

/// The float graph with its quantization points. `graph` runs like `source` while every point
/// is disabled, and shows the effect of quantization where points are enabled.
struct SimulatedGraph {
  Graph source;  ///< clean float graph
  Graph graph;   ///< with SimulatedQuantize and SimulatedDequantize around each region
  QuantPoints points;
  std::vector<Region> regions;          ///< matches in `source`, topological order
  std::vector<DynamicProduct> dynamic;  ///< topological order; in float in `graph`
  std::vector<KeptFloat> kept_float;
  /// Names of activations that get the same parameters, see Target::unified. No name is in two
  /// of these lists.
  std::vector<std::vector<std::string>> unified;
  Target target;
  NetworkArithmetic arithmetic;  ///< by nodes of `source`
  bool avoids_overflow = false;  ///< weight scales are to be such that no sum leaves it

  /// Null when no point has that name.
  const QuantPoint* find(std::string_view point) const;
};

/// Matches the target's patterns on a clean float graph and rewrites each accepted match with
/// its `simulate` callback. Where that throws an Error(kUnsupported) or Error(kInvalidModel)
/// the nodes stay float, with its message as the reason; others pass. Nodes whose names are in
/// `float_nodes` stay float as well. Activations called as in `wide_values` get the target's
/// type of 16 bits, where neither the configuration nor the model says which type they have.
SimulatedGraph simulate(const Graph&, const Config&, const Target&,
                        std::span<const QuantPattern> patterns,
                        const std::set<std::string>& float_nodes = {},
                        const std::set<std::string>& wide_values = {});

/// The simulated graph with the table's parameters bound: what quantization does, in float32.
/// Points that are disabled (or absent) pass values through. The simulated graph's own values
/// keep their handles, but for those of conversions that are passed through. Only sums that may
/// leave their accumulator still state it; the others are fast.
Graph bind(const SimulatedGraph&, const QuantTable&);

/// The arithmetic of the sums of products of a prepared graph. Each property is as the last
/// entry of `layers:` says that has it, else as configured for all, else as the target says of
/// the operator, else as it says of all.
NetworkArithmetic network_arithmetic(const Graph&, const Config&, const Target&);

/// The time of a run, of regions whose points the table enables. Nothing where the target gives
/// no costs, or none for what takes most of the time: recurrent operators, operators that run
/// graphs of their own (If, Loop, Scan), and products of operands that get their parameters
/// while the network runs. `float_nodes` stay float for the sake of accuracy, as QuantizeResult
/// has them.
std::optional<PredictedTime> predicted_time(const SimulatedGraph&, const QuantTable&,
                                            std::span<const QuantPattern>,
                                            const std::set<std::string>& float_nodes = {});

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

}  // namespace tare
