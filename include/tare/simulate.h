#pragma once

#include "tare/accumulator.h"
#include "tare/config.h"
#include "tare/graph.h"
#include "tare/pattern.h"
#include "tare/quant_table.h"

#include <cstddef>
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
  RequantizeMode requantize;     ///< of the integer graph
  Accumulator accumulator;       ///< of every sum of products
  bool avoids_overflow = false;  ///< weight scales are to be such that no sum leaves it

  /// Null when no point has that name.
  const QuantPoint* find(std::string_view point) const;
};

/// Matches the target's patterns on a clean float graph and rewrites each accepted match with
/// its `simulate` callback. Where that throws an Error the nodes stay float, with its message
/// as the reason.
/// Nodes whose names are in `float_nodes` stay float as well.
SimulatedGraph simulate(const Graph&, const Config&, const Target&,
                        std::span<const QuantPattern> patterns,
                        const std::set<std::string>& float_nodes = {});

/// What of a graph is to run on integers.
struct Assignment {
  std::set<std::string> on_integers;  ///< nodes that patterns start from
  /// What the target then takes for all that may be either, conversions included; 0 where the
  /// objective is coverage.
  double nanoseconds = 0;
  std::set<std::string> quantized;  ///< values and weights, of those with a price
};

/// What simulate() would quantize if that cost the target more, without being slower: for each
/// value or weight that is quantized so many nanoseconds, by name. The least time with its
/// price: a minimum cut, as in Stone, Multiprocessor Scheduling with the Aid of Network Flow
/// Algorithms, 1977.
Assignment assign(const Graph&, const Config&, const Target&,
                  std::span<const QuantPattern> patterns,
                  const std::map<std::string, double>& prices);

/// The simulated graph with the table's parameters bound: what quantization does, in float32.
/// Points that are disabled (or absent) pass values through. The simulated graph's own values
/// keep their handles, but for those of conversions that are passed through. Only sums that may
/// leave their accumulator still state it; the others are fast.
Graph bind(const SimulatedGraph&, const QuantTable&);

/// The fake-quantized graph, in real values, for trying parameters of activations without
/// building anything again: each point is a FakeQuantize that reads them from a graph input.
struct FakeQuantizedGraph {
  Graph graph;
  std::vector<std::string> points;  ///< of the inputs that follow those of the source, in order
  struct Constant {
    std::string point;
    ValueId value;  ///< of the graph
  };
  std::vector<Constant> constants;  ///< weights and biases
};

/// Weights and biases are as the table says. Sums of real values overflow no accumulator.
FakeQuantizedGraph fake_quantized_graph(const SimulatedGraph&, const QuantTable&);
/// What quantization makes of a weight or bias that a point of the table is for.
Tensor after_quantization(const Tensor& constant, const QuantPoint&, const QuantTable&);
/// The input that enables a point with these parameters (per tensor), or disables it, so that
/// values pass.
Tensor enabled_point(const QuantParams&);
Tensor disabled_point();

}  // namespace tare

/// Entry point of a file in patterns/; the file name is `stem`.
#define TARE_PATTERN(stem) ::tare::QuantPattern tare_pattern_##stem()
