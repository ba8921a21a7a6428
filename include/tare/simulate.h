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

struct SimulatedGraph;

enum class Role : std::uint8_t {
  kActivation,   ///< parameters chosen from data
  kWeight,       ///< parameters chosen from the constant itself
  kAccumulator,  ///< int32 at input scale * weight scale, zero point 0; also holds the bias
};

/// A point of a simulated graph: its place among SimulatedGraph::points.
struct PointId {
  std::uint32_t index = 0;
  auto operator<=>(const PointId&) const = default;
};

/// One place where a real value becomes an integer.
struct QuantPoint {
  std::string name;  ///< the value's name; the key in every table, file and report row
  ValueId value;     ///< in SimulatedGraph::source
  /// In SimulatedGraph::graph, before it is quantized: kActivation: the same value;
  /// kAccumulator, and kWeight in blocks: the first factor of the reader. Absent for other
  /// weights.
  ValueId simulated;
  Role role = Role::kActivation;
  QuantSpec spec;  ///< kAccumulator: the axis along which weight scales vary in the result
  CalibratorChoice calibrator;  ///< not used for kAccumulator
  /// kWeight, kAccumulator: the node (of source) that multiplies by it, or that accumulates.
  std::optional<NodeId> reader;
  std::string input;  ///< kAccumulator: the points whose scales multiply
  std::string weight;
  std::vector<ValueId> biases;  ///< kAccumulator: constants added at its scale
  bool corrects_bias = false;   ///< kAccumulator: undo the mean error of the weights there
  /// kAccumulator, kWeight in blocks: round the weight for the least error of its product.
  bool rounds_weight = false;
};

/// Points in the order in which regions use them. Tables and files know them by name, which is
/// looked up here; what builds graphs uses handles.
class QuantPoints {
 public:
  /// The name must be new, and the factors of an accumulator must be there.
  PointId add(QuantPoint);
  /// Takes the last ones out again, until that many are left.
  void shrink(std::size_t count);

  const QuantPoint& operator[](PointId id) const { return points_[id.index]; }
  QuantPoint& operator[](PointId id) { return points_[id.index]; }
  std::optional<PointId> find(std::string_view name) const;
  /// That whose scale is the product of the scales of these two.
  std::optional<PointId> accumulator(PointId input, PointId weight) const;

  std::vector<QuantPoint>::const_iterator begin() const { return points_.begin(); }
  std::vector<QuantPoint>::const_iterator end() const { return points_.end(); }
  std::size_t size() const { return points_.size(); }
  bool empty() const { return points_.empty(); }

 private:
  std::vector<QuantPoint> points_;
  std::map<std::string, PointId, std::less<>> by_name_;
  std::map<std::pair<PointId, PointId>, PointId> accumulators_;  ///< by their factors
};

/// Builds the affine form of one matched region. Simulation and lowering give patterns
/// different builders, so one function of a pattern serves both: in a simulated graph storage
/// values and accumulators are float32 and parameters are variables, in the integer graph they
/// are integers and constants.
class AffineBuilder {
 public:
  virtual ~AffineBuilder() = default;
  virtual const Graph& graph() const = 0;
  /// The storage form of a value of the graph; the same for every reader of that value.
  virtual ValueId activation(ValueId) = 0;
  /// The storage form of a constant, per `axis` where the configuration says per axis.
  virtual ValueId weight(const Node& reader, ValueId constant, int axis) = 0;
  /// The storage form of the constant that `reader` adds to its accumulator of input * weight.
  /// An absent constant counts as 0.
  virtual ValueId bias(const Node& reader, ValueId constant, ValueId input, ValueId weight) = 0;
  /// `node` applied to storage values: a sum of products, in accumulators whose scale is the
  /// product of the first two operands' scales, with both zero points accounted for. Returns
  /// the expressed value of the result.
  virtual ValueId accumulate(const Node& node, std::vector<ValueId> operands) = 0;
  /// `node` applied to the expressed values of storage operands, and to others as they are.
  virtual ValueId apply(const Node& node, std::vector<ValueId> operands) = 0;
};

using AffineForm = std::function<ValueId(AffineBuilder&, const Match&)>;

/// A float pattern and its two rewrites. Each returns the expressed value that replaces the
/// first output of the matched root. One file each in patterns/.
struct QuantPattern {
  std::string_view name;
  std::string_view summary;
  int benefit = 0;  ///< larger first, then by name
  /// True: it gains nothing on its own, so it is quantized only where that saves conversions
  /// for its neighbours.
  bool follows_neighbours = false;
  std::function<Pattern()> pattern;
  AffineForm simulate;
  AffineForm quantize;
  /// Of a pattern that no built-in target lists: the targets that use it although they do not
  /// list it, by name, or by that of what they extend; empty: every target, which runs it on
  /// integers where its kernels and its objective allow.
  std::vector<std::string> targets{};
  std::string plugin{};  ///< the file that it comes from; empty: none
};

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

/// A product of constant weights whose other operand gets parameters while the network runs.
struct DynamicProduct {
  NodeId node;         ///< of the source graph
  std::string weight;  ///< its point
};

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
/// `float_nodes` stay float as well.
SimulatedGraph simulate(const Graph&, const Config&, const Target&,
                        std::span<const QuantPattern> patterns,
                        const std::set<std::string>& float_nodes = {});

/// The simulated graph with the table's parameters bound: what quantization does, in float32.
/// Points that are disabled (or absent) pass values through. The simulated graph's own values
/// keep their handles, but for those of conversions that are passed through. Only sums that may
/// leave their accumulator still state it; the others are fast.
Graph bind(const SimulatedGraph&, const QuantTable&);

/// The arithmetic of the sums of products of a prepared graph. Each property is as the last
/// entry of `layers:` says that has it, else as configured for all, else as the target says of
/// the operator, else as it says of all.
NetworkArithmetic network_arithmetic(const Graph&, const Config&, const Target&);

/// What a target is said to take for a run, in nanoseconds of one thread, conversions included.
/// Only operators that it gives costs for count.
struct PredictedTime {
  double floats = 0;     ///< of the float network
  double quantized = 0;  ///< of the quantized one
};
/// Of regions whose points the table enables. Nothing where the target gives no costs, or none
/// for what takes most of the time: recurrent operators, and products of operands that get
/// their parameters while the network runs.
std::optional<PredictedTime> predicted_time(const SimulatedGraph&, const QuantTable&,
                                            std::span<const QuantPattern>);

/// A mixed-precision plan: which nodes of a network stay in float.
struct MixedPrecisionPlan {
  std::set<std::string> float_nodes;  ///< that would run on integers if time alone counted
  double nanoseconds = 0;             ///< as PredictedTime::quantized; 0: not predicted
  double error = 0;                   ///< the sum of those of the points that are quantized
  double integer_share = 0;           ///< of the multiplications

  friend bool operator==(const MixedPrecisionPlan&, const MixedPrecisionPlan&) = default;
};

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

/// Entry point of a file in patterns/; the file name is `stem`. A shared object of such a file,
/// compiled with TARE_PLUGIN defined, is a plug-in, see TARE_PART.
#define TARE_PATTERN(stem) TARE_PART(QuantPattern, tare_pattern_##stem)
