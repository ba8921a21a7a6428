#include "tare/simulate.h"

#include "tare/error.h"

#include "base/check.h"
#include "graph/affine_ops.h"
#include "simulate/region_builder.h"
#include "simulate/settings.h"

#include <algorithm>
#include <set>

namespace tare {
namespace {

/// Where the target's patterns match and are accepted.
class Matcher {
 public:
  Matcher(const Graph& graph, const Settings& settings) : graph_(graph), settings_(settings) {}

  void run(std::span<const QuantPattern> patterns, const Target& target) {
    std::vector<Candidate> leaders;
    std::vector<Candidate> followers;
    for (const QuantPattern& pattern : patterns) {
      if (std::find(target.patterns.begin(), target.patterns.end(), pattern.name) !=
          target.patterns.end()) {
        (pattern.follows_neighbours ? followers : leaders)
            .push_back({&pattern, pattern.pattern()});
      }
    }
    std::stable_sort(leaders.begin(), leaders.end(),
                     [](const Candidate& a, const Candidate& b) {
                       return std::pair(-a.pattern->benefit, a.pattern->name) <
                              std::pair(-b.pattern->benefit, b.pattern->name);
                     });
    const std::vector<NodeId> order = graph_.topological_order();
    for (const Candidate& leader : leaders) {
      for (const NodeId id : order) {
        try_at(leader, id);
      }
    }
    // One sweep is enough: whether a node follows depends on nodes before it only.
    for (const NodeId id : order) {
      for (const Candidate& follower : followers) {
        try_at(follower, id);
      }
    }
    sort_regions(order);
  }

  std::vector<Region> regions;
  std::vector<KeptFloat> kept_float;

 private:
  struct Candidate {
    const QuantPattern* pattern;
    Pattern shape;
  };

  void try_at(const Candidate& candidate, NodeId id) {
    const auto match = candidate.shape.match(graph_, id);
    if (!match || std::any_of(match->nodes().begin(), match->nodes().end(),
                              [this](NodeId node) { return claimed_.contains(node); })) {
      return;
    }
    const std::string reason = objection(*candidate.pattern, *match);
    if (reason.empty()) {
      claimed_.insert(match->nodes().begin(), match->nodes().end());
      regions.push_back({candidate.pattern, *match, {}, {}});
    } else {
      kept_float.push_back({graph_.node(id).name, reason});
    }
  }

  /// Why the match stays float; empty when it does not.
  std::string objection(const QuantPattern& pattern, const Match& match) const {
    for (const NodeId id : match.nodes()) {
      if (settings_.keeps_float(graph_.node(id))) {
        return "the configuration keeps it in float";
      }
    }
    const Node& root = graph_.node(match.root());
    if (graph_.type(root.outputs[0]).dtype != DType::kFloat32) {
      return "its result is not float32";
    }
    if (!pattern.follows_neighbours) {
      return {};
    }
    for (const ValueId operand : root.inputs) {
      if (!is_integral(operand)) {
        return "operand '" + graph_.name(operand) +
               "' is float, so converting it would cost more than it saves";
      }
    }
    return {};
  }

  /// True when the value will be available as storage values without a conversion of its own.
  bool is_integral(ValueId value) const {
    const auto producer = graph_.producer(value);
    if (!producer) {
      return false;
    }
    if (claimed_.contains(*producer)) {
      return true;
    }
    const Node& node = graph_.node(*producer);
    const AffineOp* row = find_affine_op(graph_, node);
    if (row == nullptr || !settings_.runs_on_integers(node) || settings_.keeps_float(node)) {
      return false;
    }
    const std::size_t operands = row->all_operands ? node.inputs.size() : 1;
    return std::all_of(node.inputs.begin(),
                       node.inputs.begin() + static_cast<std::ptrdiff_t>(operands),
                       [this](ValueId operand) { return is_integral(operand); });
  }

  void sort_regions(const std::vector<NodeId>& order) {
    std::map<NodeId, std::size_t> position;
    for (const NodeId id : order) {
      position.emplace(id, position.size());
    }
    std::sort(regions.begin(), regions.end(), [&](const Region& a, const Region& b) {
      return position.at(a.match.root()) < position.at(b.match.root());
    });
    // A refused pattern may still have been accepted as part of another one.
    std::erase_if(kept_float, [this](const KeptFloat& kept) {
      return claimed_.contains(*graph_.find_node(kept.node));
    });
  }

  const Graph& graph_;
  const Settings& settings_;
  std::set<NodeId> claimed_;
};

/// Builds the simulated form and collects the points on the way.
class SimulatedBuilder final : public RegionBuilder {
 public:
  SimulatedBuilder(const Graph& source, const Settings& settings)
      : RegionBuilder(source), settings_(settings) {}

  ValueId weight(const Node& reader, ValueId constant, int axis) override {
    QuantPoint point = settings_.weight(reader, constant, axis);
    point.reader = source().find_node(reader.name);
    // One constant read along two axes needs two sets of parameters.
    while (find(point.name) != nullptr && find(point.name)->spec != point.spec) {
      point.name += "'";
    }
    return storage(constant, add(std::move(point)));
  }

  /// Names of the points used since the last call.
  std::vector<std::string> take_names() { return std::exchange(used_, {}); }

  std::vector<QuantPoint> points;

 private:
  std::string activation_point(ValueId root) override {
    QuantPoint point = settings_.activation(root);
    if (source().constant(root) != nullptr) {
      point.role = Role::kWeight;
    } else {
      point.simulated = current(root);
    }
    return add(std::move(point));
  }

  std::string accumulator_point(const Node& reader, const std::string& input,
                                const std::string& weight,
                                std::optional<ValueId> bias) override {
    QuantPoint point;
    point.name = input + "*" + weight;
    point.role = Role::kAccumulator;
    point.simulated = current(reader.inputs[0]);
    point.spec = {.storage = DType::kInt32,
                  .granularity = find(weight)->spec.granularity,
                  .symmetric = true};
    point.input = input;
    point.weight = weight;
    point.reader = source().find_node(reader.name);
    QuantPoint& added = *find(add(std::move(point)));
    if (bias) {
      added.corrects_bias = settings_.corrects_bias();
    }
    added.rounds_weight = settings_.rounds_weights();
    if (bias && *bias) {
      added.biases.push_back(*bias);
    }
    return added.name;
  }

  TensorType storage_type(const Shape& shape, const std::string& point) const override {
    return {.dtype = DType::kFloat32, .shape = shape, .quant = {}, .point = point};
  }

  ValueId add_quantize(ValueId expressed, const TensorType& type, std::string name) override {
    const NodeId id =
        working().add_node("", "SimulatedQuantize", {expressed}, {{std::move(name), type}});
    return working().node(id).outputs[0];
  }

  ValueId add_bias(ValueId row, const TensorType& type, std::string name) override {
    return add_quantize(row, type, std::move(name));
  }

  std::string_view dequantize_op() const override { return "SimulatedDequantize"; }

  QuantPoint* find(const std::string& name) {
    const auto found = std::find_if(points.begin(), points.end(),
                                    [&](const QuantPoint& p) { return p.name == name; });
    return found == points.end() ? nullptr : &*found;
  }

  std::string add(QuantPoint point) {
    if (std::find(used_.begin(), used_.end(), point.name) == used_.end()) {
      used_.push_back(point.name);
    }
    if (const QuantPoint* known = find(point.name)) {
      return known->name;
    }
    points.push_back(std::move(point));
    return points.back().name;
  }

  const Settings& settings_;
  std::vector<std::string> used_;
};

bool needs_quantized_result(const Graph& graph, const Region& region, const Target& target) {
  return std::any_of(region.match.nodes().begin(), region.match.nodes().end(), [&](NodeId id) {
    const auto& ops = target.quantized_output;
    return std::find(ops.begin(), ops.end(), graph.node(id).op) != ops.end();
  });
}

}  // namespace

const QuantPoint* SimulatedGraph::find(std::string_view point) const {
  const auto found = std::find_if(points.begin(), points.end(),
                                  [&](const QuantPoint& p) { return p.name == point; });
  return found == points.end() ? nullptr : &*found;
}

SimulatedGraph simulate(const Graph& graph, const Config& config, const Target& target,
                        std::span<const QuantPattern> patterns) {
  SimulatedGraph result;
  result.source = graph;
  result.target = target;
  result.requantize = config.requantize.mode();
  const Settings settings(result.source, config, target);
  Matcher matcher(result.source, settings);
  matcher.run(patterns, target);
  result.regions = std::move(matcher.regions);
  result.kept_float = std::move(matcher.kept_float);

  SimulatedBuilder builder(result.source, settings);
  for (Region& region : result.regions) {
    builder.replace(region, region.pattern->simulate(builder, region.match));
    region.points = builder.take_names();
  }
  for (Region& region : result.regions) {
    if (needs_quantized_result(result.source, region, target)) {
      region.quantized_result = fused_result(result.source, region);
      builder.quantize_for_all(region.quantized_result);
      const std::vector<std::string> names = builder.take_names();
      region.points.insert(region.points.end(), names.begin(), names.end());
    }
  }
  result.points = std::move(builder.points);
  result.graph = builder.take();
  return result;
}

}  // namespace tare
