// What widths of weights cost and cause. Weights of all layers are made once for each width,
// and the network that has this width everywhere tells the size of its file and of each of its
// constants; sensitivities, as those of plans (mixed_precision_plans.cpp), tell what each layer
// loses alone. Errors of layers add up, nearly, and so do their bytes, so that nothing else is
// needed to choose any mix. Cost: for each width a quarter of a pass over the samples for
// ranges, and no more than another one for sensitivities.
#include "pipeline/width_menu.h"

#include "graph/arithmetic/packed.h"
#include "graph/ir/derived_names.h"
#include "graph/operators/product.h"
#include "pipeline/stages.h"
#include "search/bit_operations.h"

#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace tare {
namespace {

constexpr int kBitsOfByte = 8;

/// The most that the configuration permits, and of 8, 4 and 2 those that are fewer.
std::vector<int> permitted_widths(const Config& config, const Target& target) {
  std::vector<int> result{
      config.weights.bits.value_or(target.weight_bits.value_or(kBitsOfByte))};
  for (const int bits : {8, 4, 2}) {
    if (bits < result.front()) {
      result.push_back(bits);
    }
  }
  return result;
}

/// Of all layers with weights, but for those that have entries of their own.
Config with_width(Config config, int bits) {
  LayerRule rule;
  rule.shape.input_channels = IntegerRange{.low = 1};  // those with constant weights
  rule.if_present = true;
  rule.weights.bits = bits;
  config.layers.insert(config.layers.begin(), std::move(rule));
  return config;
}

/// Which nodes read each weight, in the order of the network.
std::vector<WeightedLayer> weighted_layers(const SimulatedGraph& simulated,
                                           const Config& config) {
  const Graph& graph = simulated.source;
  std::map<std::string, std::vector<std::string>> weights_of;  // of nodes
  const auto add = [&](NodeId id, const std::vector<std::string>& points) {
    for (const std::string& name : points) {
      const QuantPoint& point = *simulated.find(name);
      if (point.role == Role::kWeight && point.reader) {
        weights_of[graph.node(id).name].push_back(name);
      }
    }
  };
  for (const Region& region : simulated.regions) {
    for (const NodeId id : region.match.nodes()) {
      if (is_product(graph.node(id)) || is_recurrent(graph.node(id))) {
        add(id, region.points);
      }
    }
  }
  for (const DynamicProduct& product : simulated.dynamic) {
    add(product.node, product.weights);
  }
  const LayerRules rules(graph, config.layers);
  std::vector<WeightedLayer> layers;
  std::map<std::string, std::size_t> layer_of;  // of points
  for (const NodeId id : graph.topological_order()) {
    const auto found = weights_of.find(graph.node(id).name);
    if (found == weights_of.end()) {
      continue;
    }
    const auto shared = layer_of.find(found->second.front());
    const std::size_t at = shared == layer_of.end() ? layers.size() : shared->second;
    if (at == layers.size()) {
      layers.emplace_back();
    }
    WeightedLayer& layer = layers[at];
    layer.nodes.push_back(found->first);
    const ValueOverride& own = rules.of(id).weights;
    layer.is_given = layer.is_given || own.bits || own.storage;
    for (const std::string& point : found->second) {
      if (layer_of.emplace(point, at).second) {
        layer.points.push_back(point);
      }
    }
  }
  return layers;
}

/// Those of one width among those of all, by names that tell widths apart.
MeasuredSensitivities of_width(int bits, const MeasuredSensitivities& measured,
                               Sensitivities& all) {
  const std::string prefix = std::to_string(bits) + " bits of ";
  MeasuredSensitivities result;
  for (const auto& [name, error] : all) {
    if (name.starts_with(prefix)) {
      result.known.emplace(name.substr(prefix.size()), error);
    }
  }
  result.more = [prefix, &measured, &all](const Sensitivities& errors) {
    for (const auto& [point, error] : errors) {
      all.insert_or_assign(prefix + point, error);
    }
    if (measured.more) {
      measured.more(all);
    }
  };
  return result;
}

/// Bytes that a constant takes in a file, without its name.
double bytes_of_constant(const Graph& qdq, ValueId constant) {
  const TensorType& type = qdq.type(constant);
  const double bits = is_packed(type) ? type.quant->bits
                                      : kBitsOfByte * static_cast<double>(size_of(type.dtype));
  return std::ceil(static_cast<double>(element_count(type.shape)) * bits / kBitsOfByte);
}

/// Bytes that a weight takes there, with its zero points, which packed ones may do without.
double bytes_of_weight(const Graph& qdq, const SimulatedGraph& simulated,
                       const QuantPoint& point) {
  constexpr std::size_t kZeroPoint = 2;
  constexpr double kHeader = 14;  // of another constant: tags, lengths, shape and type
  const auto integers = qdq.find_value(quantized_name(point.name));
  if (!integers || qdq.constant(*integers) == nullptr) {
    return static_cast<double>(element_count(simulated.source.type(point.value).shape));
  }
  double bytes = bytes_of_constant(qdq, *integers);
  for (const NodeId id : qdq.users(*integers)) {
    const Node& node = qdq.node(id);
    if (node.inputs.size() > kZeroPoint && node.inputs[kZeroPoint] &&
        qdq.constant(node.inputs[kZeroPoint]) != nullptr) {
      const std::string& name = qdq.name(node.inputs[kZeroPoint]);
      bytes += bytes_of_constant(qdq, node.inputs[kZeroPoint]) + kHeader +
               2 * static_cast<double>(name.size());  // where it is and where it is read
    }
  }
  return bytes;
}

/// Makes the menu width after width.
class MenuBuilder {
 public:
  MenuBuilder(const Graph& model, const Dataset& data, const Config& config,
              const Toolkit& toolkit, const CalibrateOptions& options,
              const MeasuredSensitivities& measured, const std::filesystem::path& file)
      : model_(model),
        data_(data),
        config_(config),
        toolkit_(toolkit),
        options_(options),
        measured_(measured),
        file_(file),
        known_(measured.known) {}

  WidthMenu run() {
    for (const int bits : permitted_widths(config_, target_of(config_, toolkit_))) {
      add(bits);
    }
    menu_.measured = std::move(known_);
    return std::move(menu_);
  }

 private:
  void add(int bits) {
    Stages stages(model_, with_width(config_, bits), toolkit_);
    stages.keep_small_divisors(data_, options_);
    const bool is_first = menu_.bits.empty();
    if (is_first) {
      stages.equalize(data_, options_);
      factors_ = stages.factors();
    } else {
      stages.use(factors_);
    }
    stages.simulate();
    const SimulatedGraph& simulated = stages.simulated();
    if (is_first) {
      menu_.layers = weighted_layers(simulated, config_);
    }
    const QuantTable table = stages.independent_table(data_, options_);
    const Sensitivities errors =
        stages.errors(data_, options_, table, open_points(), of_width(bits, measured_, known_));
    stages.observe_caches(data_, options_);
    stages.decide("choosing weights",
                  [&](const SimulatedGraph&, CalibrationAudit&) { return table; });
    QuantizeResult result = stages.finish();
    result.factors = {};  // which files state; whether they help a mix is seen when it is tried
    const BitOperations operations = bit_operations(result.simulated);
    for (WeightedLayer& layer : menu_.layers) {
      if (layer.options.empty() || !layer.is_given) {
        layer.options.push_back(option(bits, layer, errors, operations, result));
      }
    }
    menu_.bits.push_back(bits);
    menu_.uniform.push_back(cost_of(result, file_));
  }

  std::set<std::string> open_points() const {
    std::set<std::string> points;
    for (const WeightedLayer& layer : menu_.layers) {
      if (!layer.is_given) {
        points.insert(layer.points.begin(), layer.points.end());
      }
    }
    return points;
  }

  static WidthOption option(int bits, const WeightedLayer& layer, const Sensitivities& errors,
                            const BitOperations& operations, const QuantizeResult& result) {
    const SimulatedGraph& simulated = result.simulated;
    WidthOption option{.bits = bits};
    for (const std::string& name : layer.points) {
      // One constant that is read with two widths is one point where they are the same.
      if (const QuantPoint* point = simulated.find(name)) {
        const auto error = errors.find(name);
        option.bits = layer.is_given ? bits_of(point->spec) : bits;
        option.error += error == errors.end() ? 0 : error->second;
        option.bytes += bytes_of_weight(result.qdq, simulated, *point);
      }
    }
    for (const std::string& node : layer.nodes) {
      const auto own = operations.find(*simulated.source.find_node(node));
      option.bit_operations += own == operations.end() ? 0 : own->second;
    }
    return option;
  }

  const Graph& model_;
  const Dataset& data_;
  const Config& config_;
  const Toolkit& toolkit_;
  const CalibrateOptions& options_;
  const MeasuredSensitivities& measured_;
  const std::filesystem::path& file_;
  Sensitivities known_;
  ChannelFactors factors_;
  WidthMenu menu_;
};

}  // namespace

WidthMenu width_menu(const Graph& model, const Dataset& data, const Config& config,
                     const Toolkit& toolkit, const CalibrateOptions& options,
                     const MeasuredSensitivities& measured, const std::filesystem::path& file) {
  return MenuBuilder(model, data, config, toolkit, options, measured, file).run();
}

NetworkCost cost_of(const QuantizeResult& result, const std::filesystem::path& file) {
  return {static_cast<double>(written_bytes(result.qdq, file, file_metadata(result))),
          total(bit_operations(result.simulated))};
}

Config apply_widths(Config config, const std::vector<LayerWidth>& layers) {
  for (const LayerWidth& layer : layers) {
    for (const std::string& node : layer.nodes) {
      if (!layer.is_given) {
        LayerRule rule;
        rule.name = node;
        rule.weights.bits = layer.bits;
        config.layers.push_back(std::move(rule));
      }
    }
  }
  return config;
}

}  // namespace tare
