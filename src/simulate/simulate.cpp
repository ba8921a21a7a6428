// Builds the simulated graph: each region is replaced by what its pattern makes of it, with a
// SimulatedQuantize wherever a real value becomes an integer. Storage values are held in
// float32 (simulated quantization, as TVM's qnn.simulated_quantize), where 8 and 16 bits are
// exact, so every tool for float graphs works on it. A region that its pattern refuses is taken
// back by itself. Time: linear in the graph.
#include "tare/simulate.h"

#include "tare/error.h"

#include "base/check.h"
#include "simulate/match_regions.h"
#include "simulate/region_builder.h"
#include "simulate/separate_biases.h"
#include "simulate/settings.h"
#include "simulate/unified_points.h"
#include "simulate/weight_blocks.h"

#include <algorithm>

namespace tare {
namespace {

/// Builds the simulated form and collects the points on the way.
class SimulatedBuilder final : public RegionBuilder {
 public:
  SimulatedBuilder(const Graph& source, const NetworkArithmetic& arithmetic,
                   const Settings& settings)
      : RegionBuilder(source, arithmetic), settings_(settings) {}

  ValueId weight(const Node& reader, ValueId constant, int axis) override {
    return storage(constant, weight_point(reader, constant, axis));
  }

  /// Only weights of a dynamic product have points: no other parameters are known before.
  DynamicProduct dynamic(NodeId id, const std::vector<DynamicWeight>& weights) {
    const Node& node = source().node(id);
    DynamicProduct result{id, {}};
    for (const DynamicWeight& weight : weights) {
      const PointId point = weight_point(node, node.inputs[weight.operand], weight.axis);
      result.weights.push_back(points_[point].name);
    }
    (void)take_names();
    return result;
  }

  /// Replaces the region, or leaves it and says why where its pattern throws an Error. What is
  /// our fault, or that of a plug-in, is no reason.
  std::optional<std::string> simulate(Region& region) {
    const std::size_t before = points_.size();
    try {
      replace(region, region.pattern->simulate(*this, region.match));
      region.points = take_names();
      return std::nullopt;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kInternal || error.code() == ErrorCode::kInvalidConfig) {
        throw;
      }
      undo(before);
      return "pattern '" + std::string(region.pattern->name) + "': " + error.what();
    }
  }

  /// Names of the points used since the last call.
  std::vector<std::string> take_names() {
    std::vector<std::string> names;
    for (const PointId id : used_) {
      names.push_back(points_[id].name);
    }
    start_turn();
    return names;
  }

  QuantPoints take_points() { return std::move(points_); }

 private:
  const QuantPoints& points() const override { return points_; }

  PointId weight_point(const Node& reader, ValueId constant, int axis) {
    QuantPoint point = settings_.weight(reader, constant, axis);
    point.reader = source().find_node(reader.name);
    if (point.spec.block != 0) {
      point.simulated = current(reader.inputs[0]);
      point.rounds_weight = settings_.rounds_weights(reader);
    }
    // One constant read along two axes needs two sets of parameters.
    for (auto known = points_.find(point.name); known && points_[*known].spec != point.spec;
         known = points_.find(point.name)) {
      point.name += "'";
    }
    return add(std::move(point));
  }

  PointId activation_point(ValueId root) override {
    QuantPoint point = settings_.activation(root);
    if (source().constant(root) != nullptr) {
      point.role = Role::kWeight;
    } else {
      point.simulated = current(root);
    }
    return add(std::move(point));
  }

  PointId accumulator_point(const Node& reader, PointId input, PointId weight,
                            std::optional<ValueId> bias) override {
    const auto known = points_.accumulator(input, weight);
    const PointId id = known ? *known : add_accumulator(reader, input, weight);
    changed_.emplace_back(id, points_[id]);
    use(id);
    QuantPoint& point = points_[id];
    if (bias) {
      point.corrects_bias = settings_.corrects_bias(reader);
    }
    point.rounds_weight = settings_.rounds_weights(reader);
    if (bias && *bias) {
      point.biases.push_back(*bias);
    }
    return id;
  }

  PointId add_accumulator(const Node& reader, PointId input, PointId weight) {
    QuantPoint point;
    point.input = points_[input].name;
    point.weight = points_[weight].name;
    point.name = point.input + "*" + point.weight;
    while (points_.find(point.name) || source().find_value(point.name)) {
      point.name += "'";  // a value may have that name, and a point of its own later on
    }
    point.role = Role::kAccumulator;
    point.simulated = current(reader.inputs[0]);
    point.spec = {.storage = DType::kInt32,
                  .granularity = points_[weight].spec.granularity,
                  .symmetric = true};
    point.reader = source().find_node(reader.name);
    return points_.add(std::move(point));
  }

  TensorType storage_type(const Shape& shape, const QuantPoint& point) const override {
    return {.dtype = DType::kFloat32, .shape = shape, .quant = {}, .point = point.name};
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

  /// The point of that name, which is added where there is none yet.
  PointId add(QuantPoint point) {
    const auto known = points_.find(point.name);
    const PointId id = known ? *known : points_.add(std::move(point));
    use(id);
    return id;
  }

  void use(PointId id) {
    last_turn_.resize(points_.size());
    if (std::exchange(last_turn_[id.index], turn_) != turn_) {
      used_.push_back(id);
    }
  }

  void start_turn() {
    used_.clear();
    changed_.clear();
    ++turn_;
  }

  /// Points as they were when there were that many.
  void undo(std::size_t count) {
    for (auto change = changed_.rbegin(); change != changed_.rend(); ++change) {
      points_[change->first] = std::move(change->second);
    }
    points_.shrink(count);
    last_turn_.resize(count);
    forget_from(PointId{static_cast<std::uint32_t>(count)});
    start_turn();
  }

  const Settings& settings_;
  QuantPoints points_;
  std::vector<PointId> used_;
  std::vector<std::pair<PointId, QuantPoint>> changed_;  ///< since then, as they were before
  std::vector<std::size_t> last_turn_;  ///< of each point, in which it was used
  std::size_t turn_ = 1;                ///< counts calls of take_names()
};

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

/// Modes are defined, and shifts are between scales that are powers of two.
void check_rescaling(const Config& config, const Target& target,
                     const NetworkArithmetic& arithmetic) {
  const auto is_shift = [](const SumArithmetic& one) {
    return one.requantize.rounding == RequantizeRounding::kShift;
  };
  const bool shifts = is_shift(arithmetic.usual) ||
                      std::any_of(arithmetic.layers.begin(), arithmetic.layers.end(),
                                  [&](const auto& layer) { return is_shift(layer.second); });
  const auto check_mode = [](const SumArithmetic& one) {
    if (!is_defined(one.requantize)) {
      throw Error(ErrorCode::kInvalidConfig, "requantize.arithmetic",
                  "does not go with the rounding of the target")
          .expected(
              "float for half_even, fixed_point for tflite_double, tflite_single and "
              "shift, or 'requantize.rounding'");
    }
  };
  check_mode(arithmetic.usual);
  for (const auto& [node, own] : arithmetic.layers) {
    check_mode(own);
  }
  const bool powers_of_two =
      target.power_of_two || (config.activations.power_of_two && config.weights.power_of_two);
  if (shifts && !powers_of_two) {
    throw Error(ErrorCode::kInvalidConfig, "requantize.rounding",
                "is shift between scales that may be anything")
        .expected("'power_of_two: true' for activations and weights, or for the target");
  }
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
  const auto check_bits = [&](const std::string& where, std::optional<int> bits,
                              std::optional<DType> storage) {
    const int most = storage ? 8 * static_cast<int>(size_of(*storage)) : wide.empty() ? 8 : 16;
    if (bits.value_or(0) > most) {
      faults.add(where,
                 storage
                     ? "the storage type has fewer bits"
                     : "the target '" + target.name + "' has no activations of so many bits",
                 "at most " + std::to_string(most));
    }
  };
  check("activations.storage", config.activations.storage);
  check_bits("activations.bits", config.activations.bits, config.activations.storage);
  if (!config.activations.bits) {
    check_bits("target '" + target.name + "'", target.activation_bits,
               config.activations.storage);
  }
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    const std::string rule = "layers[" + std::to_string(i) + "].";
    check(rule + "activations.storage", config.layers[i].activations.storage);
    check(rule + "inputs.storage", config.layers[i].inputs.storage);
    for (const auto& [key, values] :
         {std::pair("activations.bits", &config.layers[i].activations),
          std::pair("inputs.bits", &config.layers[i].inputs)}) {
      check_bits(rule + key, values->bits,
                 values->storage ? values->storage : config.activations.storage);
    }
  }
  faults.raise(ErrorCode::kInvalidConfig);
}

}  // namespace

SimulatedGraph simulate(const Graph& graph, const Config& config, const Target& target,
                        std::span<const QuantPattern> patterns,
                        const std::set<std::string>& float_nodes,
                        const std::set<std::string>& wide_values) {
  check_storage(config, target);
  check_blocks(config);
  SimulatedGraph result;
  result.source = with_separate_biases(graph, config, target);  // where nobody did so before
  result.target = target;
  result.arithmetic = network_arithmetic(result.source, config, target);
  check_rescaling(config, target, result.arithmetic);
  result.avoids_overflow = config.avoid_overflow;
  Settings settings(result.source, config, target, float_nodes, wide_values);
  MatchedRegions matched = match_regions(result.source, settings, patterns);
  result.regions = std::move(matched.regions);
  result.kept_float = std::move(matched.kept_float);
  std::for_each(result.regions.begin(), result.regions.end(),
                [&](const Region& region) { settings.join(region); });

  SimulatedBuilder builder(result.source, result.arithmetic, settings);
  std::erase_if(result.regions, [&](Region& region) {
    const auto reason = builder.simulate(region);
    if (reason) {
      const Node& root = result.source.node(region.match.root());
      result.kept_float.push_back({root.name, *reason});
    }
    return reason.has_value();
  });
  for (Region& region : result.regions) {
    if (!has_weight_blocks(region) && settings.needs_quantized_result(region)) {
      region.quantized_result = fused_result(result.source, region);
      builder.quantize_for_all(region.quantized_result);
      const std::vector<std::string> names = builder.take_names();
      region.points.insert(region.points.end(), names.begin(), names.end());
    }
  }
  std::set<std::string> dynamic;
  for (const NodeId id : result.source.topological_order()) {
    const Node& node = result.source.node(id);
    if (const auto weights = settings.dynamic_weights(node); !weights.empty()) {
      result.dynamic.push_back(builder.dynamic(id, weights));
      dynamic.insert(node.name);
    }
  }
  std::erase_if(result.kept_float,
                [&](const KeptFloat& kept) { return dynamic.contains(kept.node); });
  result.points = builder.take_points();
  result.unified = unified_points(result);
  result.graph = builder.take();
  return result;
}

}  // namespace tare
