#include "tare/simulate.h"

#include "tare/error.h"

#include "base/check.h"
#include "simulate/match_regions.h"
#include "simulate/region_builder.h"
#include "simulate/settings.h"
#include "simulate/weight_blocks.h"

#include <algorithm>

namespace tare {
namespace {

/// Builds the simulated form and collects the points on the way.
class SimulatedBuilder final : public RegionBuilder {
 public:
  SimulatedBuilder(const Graph& source, const Accumulator& accumulator,
                   const Settings& settings)
      : RegionBuilder(source, accumulator), settings_(settings) {}

  ValueId weight(const Node& reader, ValueId constant, int axis) override {
    return storage(constant, weight_point(reader, constant, axis));
  }

  /// Only the weight of a dynamic product has a point: no other parameters are known before.
  DynamicProduct dynamic(NodeId id, int weight_axis) {
    const Node& node = source().node(id);
    DynamicProduct product{id, weight_point(node, node.inputs[1], weight_axis)};
    take_names();
    return product;
  }

  /// Replaces the region, or leaves it and says why where its pattern throws an Error.
  std::optional<std::string> simulate(Region& region) {
    const std::vector<QuantPoint> before = points;
    try {
      replace(region, region.pattern->simulate(*this, region.match));
      region.points = take_names();
      return std::nullopt;
    } catch (const Error& error) {
      points = before;
      used_.clear();
      return "pattern '" + std::string(region.pattern->name) + "': " + error.what();
    }
  }

  /// Names of the points used since the last call.
  std::vector<std::string> take_names() { return std::exchange(used_, {}); }

  std::vector<QuantPoint> points;

 private:
  std::string weight_point(const Node& reader, ValueId constant, int axis) {
    QuantPoint point = settings_.weight(reader, constant, axis);
    point.reader = source().find_node(reader.name);
    if (point.spec.block != 0) {
      point.simulated = current(reader.inputs[0]);
      point.rounds_weight = settings_.rounds_weights(reader);
    }
    // One constant read along two axes needs two sets of parameters.
    while (find(point.name) != nullptr && find(point.name)->spec != point.spec) {
      point.name += "'";
    }
    return add(std::move(point));
  }

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
      added.corrects_bias = settings_.corrects_bias(reader);
    }
    added.rounds_weight = settings_.rounds_weights(reader);
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

bool is_activation(const SimulatedGraph& simulated, const std::string& name) {
  const QuantPoint* point = simulated.find(name);
  return point != nullptr && point->role == Role::kActivation;
}

/// What the operators that the target unifies read and compute, merged where they meet.
std::vector<std::vector<std::string>> unified_points(const SimulatedGraph& simulated) {
  const Graph& graph = simulated.source;
  const auto& ops = simulated.target.unified;
  std::vector<std::vector<std::string>> groups;
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    if (std::find(ops.begin(), ops.end(), node.op) == ops.end() ||
        !is_activation(simulated, graph.name(node.outputs[0]))) {
      continue;
    }
    std::vector<std::string> group{graph.name(node.outputs[0])};
    for (const ValueId operand : node.inputs) {
      if (const std::string name = graph.name(point_root(graph, operand));
          is_activation(simulated, name)) {
        group.push_back(name);
      }
    }
    std::erase_if(groups, [&](const std::vector<std::string>& other) {
      const bool meets = std::find_first_of(other.begin(), other.end(), group.begin(),
                                            group.end()) != other.end();
      group.insert(group.end(), other.begin(), meets ? other.end() : other.begin());
      return meets;
    });
    std::sort(group.begin(), group.end());
    group.erase(std::unique(group.begin(), group.end()), group.end());
    groups.push_back(std::move(group));
  }
  return groups;
}

/// What a rule asks for by an operator whose weights have no blocks.
void check_blocks(const Config& config) {
  Faults faults;
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    const LayerRule& rule = config.layers[i];
    if (rule.weights.block.value_or(0) != 0 && !rule.op.empty() && rule.op != "MatMul" &&
        rule.op != "Gemm") {
      faults.add("layers[" + std::to_string(i) + "].weights.block",
                 "a " + rule.op + " has no weights in blocks", "0, or MatMul or Gemm as 'op'");
    }
  }
  faults.raise(ErrorCode::kInvalidConfig);
}

/// Types that the configuration asks for and files for the target cannot have.
void check_storage(const Config& config, const Target& target) {
  const auto& wide = target.wide_activations;
  Faults faults;
  const auto check = [&](const std::string& where, std::optional<DType> storage) {
    if (storage && size_of(*storage) == 2 &&
        std::find(wide.begin(), wide.end(), *storage) == wide.end()) {
      const std::string other = *storage == DType::kInt16 ? "uint16" : "int16";
      faults.add(where, "the target '" + target.name + "' has no activations of this type",
                 wide.empty() ? "int8 or uint8" : "int8, uint8 or " + other);
    }
  };
  check("activations.storage", config.activations.storage);
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    const std::string rule = "layers[" + std::to_string(i) + "].";
    check(rule + "activations.storage", config.layers[i].activations.storage);
    check(rule + "inputs.storage", config.layers[i].inputs.storage);
  }
  faults.raise(ErrorCode::kInvalidConfig);
}

}  // namespace

const QuantPoint* SimulatedGraph::find(std::string_view point) const {
  const auto found = std::find_if(points.begin(), points.end(),
                                  [&](const QuantPoint& p) { return p.name == point; });
  return found == points.end() ? nullptr : &*found;
}

SimulatedGraph simulate(const Graph& graph, const Config& config, const Target& target,
                        std::span<const QuantPattern> patterns,
                        const std::set<std::string>& float_nodes) {
  check_storage(config, target);
  check_blocks(config);
  SimulatedGraph result;
  result.source = graph;
  result.target = target;
  result.requantize = config.requantize.mode();
  result.accumulator = config.accumulator;
  result.avoids_overflow = config.avoid_overflow;
  Settings settings(result.source, config, target, float_nodes);
  MatchedRegions matched = match_regions(result.source, settings, patterns);
  result.regions = std::move(matched.regions);
  result.kept_float = std::move(matched.kept_float);
  std::for_each(result.regions.begin(), result.regions.end(),
                [&](const Region& region) { settings.join(region); });

  SimulatedBuilder builder(result.source, result.accumulator, settings);
  std::erase_if(result.regions, [&](Region& region) {
    const auto reason = builder.simulate(region);
    if (reason) {
      const Node& root = result.source.node(region.match.root());
      result.kept_float.push_back({root.name, *reason});
    }
    return reason.has_value();
  });
  for (Region& region : result.regions) {
    if (!has_weight_blocks(region) && settings.needs_quantized_result(region.match)) {
      region.quantized_result = fused_result(result.source, region);
      builder.quantize_for_all(region.quantized_result);
      const std::vector<std::string> names = builder.take_names();
      region.points.insert(region.points.end(), names.begin(), names.end());
    }
  }
  for (const NodeId id : result.source.topological_order()) {
    const Node& node = result.source.node(id);
    if (const auto axis = settings.dynamic_axis(node)) {
      result.dynamic.push_back(builder.dynamic(id, *axis));
      std::erase_if(result.kept_float,
                    [&](const KeptFloat& kept) { return kept.node == node.name; });
    }
  }
  result.points = std::move(builder.points);
  result.unified = unified_points(result);
  result.graph = builder.take();
  return result;
}

}  // namespace tare
