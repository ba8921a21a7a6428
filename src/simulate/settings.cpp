#include "simulate/settings.h"

#include "graph/operators/detection_head.h"
#include "graph/operators/product.h"
#include "simulate/kernel_time.h"
#include "simulate/lookup_pattern.h"
#include "simulate/region_builder.h"
#include "simulate/separate_biases.h"
#include "simulate/target_operator.h"
#include "simulate/unquantizable.h"
#include "simulate/weight_blocks.h"

#include <algorithm>

namespace tare {
namespace {

/// Names of the nodes of all matches.
std::set<std::string> matched_nodes(const Graph& graph, const std::string& text) {
  std::set<std::string> result;
  const Pattern pattern = parse_pattern(text);
  for (const NodeId id : graph.topological_order()) {
    if (const auto match = pattern.match(graph, id)) {
      for (const NodeId node : match->nodes()) {
        result.insert(graph.node(node).name);
      }
    }
  }
  return result;
}

/// The parameters of a value that the model itself dequantizes, as after training with
/// quantization; nothing where they vary along an axis.
std::optional<QuantParams> stated_parameters(const Graph& graph, ValueId value) {
  const auto producer = graph.producer(value);
  if (!producer || graph.node(*producer).op != "DequantizeLinear") {
    return std::nullopt;
  }
  const Node& node = graph.node(*producer);
  const DType storage = graph.type(node.inputs[0]).dtype;
  const Tensor* scale = graph.constant(node.inputs[1]);
  const Tensor* zero =
      node.inputs.size() > 2 && node.inputs[2] ? graph.constant(node.inputs[2]) : nullptr;
  const bool is_one =
      scale != nullptr && scale->size() == 1 && scale->dtype() == DType::kFloat32 &&
      (zero != nullptr ? zero->size() == 1 : node.inputs.size() < 3 || !node.inputs[2]);
  if (!is_one || !is_integer(storage) || size_of(storage) > 2) {
    return std::nullopt;
  }
  return QuantParams{
      .storage = storage,
      .scale = {scale->view<float>()[0]},
      .zero_point = {zero == nullptr ? 0 : static_cast<std::int32_t>(zero->to_int64()[0])},
      .axis = {},
      .narrow_range = false};
}

/// The type for more than 8 bits: the target's own one, with a sign where that of 8 bits has
/// one if there are two.
DType wide_storage(const Target& target, DType narrow) {
  const auto& wide = target.wide_activations;
  const DType alike = narrow == DType::kInt8 ? DType::kInt16 : DType::kUint16;
  return wide.size() == 1 ? wide[0] : alike;
}

}  // namespace

Settings::Settings(const Graph& graph, const Config& config, const Target& target,
                   const std::set<std::string>& float_nodes,
                   const std::set<std::string>& wide_values)
    : graph_(&graph),
      config_(&config),
      target_(&target),
      rules_(graph, config.layers),
      float_nodes_(float_nodes),
      wide_values_(wide_values),
      unquantizable_(unquantizable_nodes(graph)) {
  if (objective() != Objective::kCoverage) {
    for (const NodeId id : detection_head(graph)) {
      target_float_.emplace(graph.node(id).name,
                            "it decodes boxes beside scores, which one scale cannot hold");
    }
  }
  if (objective() != Objective::kCoverage) {
    for (const FloatRule& rule : target.keep_float) {
      for (const std::string& name : matched_nodes(graph, rule.pattern)) {
        target_float_.emplace(name, rule.because);
      }
    }
  }
}

const LayerRule& Settings::rule(const Node& node) const {
  return rules_.of(*graph_->find_node(node.name));
}

bool Settings::demands_integers(const Node& node) const {
  return rules_.demands_integers(*graph_, *graph_->find_node(node.name));
}

bool Settings::demands_integers(const Region& region) const {
  const std::vector<NodeId> nodes = layer_nodes(*graph_, region);
  return std::any_of(nodes.begin(), nodes.end(),
                     [this](NodeId id) { return rules_.demands_integers(*graph_, id); });
}

const TargetOperator* Settings::target_operator(const Node& node) const {
  return find_operator(*target_, *graph_, node);
}

const TargetOperator* Settings::costs_of(const Node& node) const {
  return find_costs(*target_, *graph_, node);
}

bool Settings::runs_on_integers(const Node& node) const {
  return target_->operators.empty() || target_operator(node) != nullptr;
}

bool Settings::needs_quantized_result(const Region& region) const {
  if (objective() == Objective::kCoverage || region.pattern == &lookup_pattern()) {
    return true;
  }
  const std::vector<NodeId>& nodes = region.match.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    const TargetOperator* row = target_operator(graph_->node(id));
    return row != nullptr && row->quantized_result;
  });
}

bool Settings::keeps_float(const Node& node) const {
  return !float_reason(node).empty();
}

std::string Settings::float_reason(const Node& node) const {
  if (const auto found = unquantizable_.find(node.outputs[0]); found != unquantizable_.end()) {
    return found->second;
  }
  if (float_nodes_.contains(node.name)) {
    return "too much accuracy lost for the time that integers save";
  }
  if (rule(node).keep_float.value_or(false)) {
    const std::string& because = rule(node).because;
    return because.empty() ? "the configuration keeps it in float" : because;
  }
  if (weight_block(node) != 0) {
    return "its weights are in blocks";
  }
  if (is_dynamic(node)) {
    return tare::dynamic_weights(*graph_, node).empty()
               ? "only products with constant weights are quantized dynamically"
               : "the target has no kernel for dynamically quantized operands";
  }
  if (demands_integers(node)) {
    return "";
  }
  const auto of_target = target_float_.find(node.name);
  return of_target == target_float_.end() ? "" : of_target->second;
}

bool Settings::is_kept_float(const Node& node) const {
  return unquantizable_.contains(node.outputs[0]) || float_nodes_.contains(node.name) ||
         rule(node).keep_float.value_or(false);
}

bool Settings::is_dynamic(const Node& node) const {
  return !is_kept_float(node) && weight_block(node) == 0 &&
         rule(node).activations.dynamic.value_or(config_->activations.dynamic);
}

const TargetOperator* Settings::dynamic_kernel_costs(const Node& node) const {
  const std::vector<TargetOperator>& rows = target_->operators;
  const auto row =
      std::find_if(rows.begin(), rows.end(),
                   [kernel = dynamic_kernel(node)](const auto& r) { return r.op == kernel; });
  return row == rows.end() ? nullptr : &*row;
}

std::vector<DynamicWeight> Settings::dynamic_weights(const Node& node) const {
  const std::string kernel = dynamic_kernel(node);
  const auto& rows = target_->operators;
  const TargetOperator* row = dynamic_kernel_costs(node);
  // That of recurrent layers is no operator of ONNX.
  const bool is_standard = kernel != "DynamicQuantizeLSTM";
  const bool has_kernel =
      row != nullptr || (is_standard && (rows.empty() || objective() == Objective::kCoverage));
  const bool is_wanted =
      is_dynamic(node) || (!is_standard && row != nullptr && pays_dynamically(node, *row));
  return has_kernel && is_wanted ? tare::dynamic_weights(*graph_, node)
                                 : std::vector<DynamicWeight>();
}

bool Settings::pays_dynamically(const Node& node, const TargetOperator& row) const {
  if (row.floats.work == 0 || is_kept_float(node) || weight_block(node) != 0) {
    return false;
  }
  const double gain =
      kernel_time(*graph_, node, row.floats) - kernel_time(*graph_, node, row.integers);
  return objective() != Objective::kLatency || gain >= target_->least_gain;
}

int Settings::weight_block(const Node& node) const {
  return is_kept_float(node) || !weight_block_axis(*graph_, node)
             ? 0
             : rule(node).weights.block.value_or(config_->weights.block);
}

bool Settings::adds_bias_after(const Node& product) const {
  return tare::adds_bias_after(rule(product), *config_, *target_);
}

bool Settings::corrects_bias(const Node& node) const {
  return !adds_bias_after(node) &&
         rule(node).bias_correction.value_or(config_->bias_correction);
}

bool Settings::rounds_weights(const Node& node) const {
  return rule(node).rounding.value_or(config_->rounding) != Rounding::kNearest;
}

bool Settings::equalizes(const Node& node) const {
  return rule(node).equalization.value_or(config_->equalization);
}

DType Settings::activation_storage(ValueId value, const ValueOverride& own) const {
  const DType usual = target_->activation_storage;
  const bool is_open =
      !own.bits && !config_->activations.bits && !target_->activation_bits.has_value();
  return is_open && wide_values_.contains(graph_->name(value)) ? wide_storage(*target_, usual)
                                                               : usual;
}

QuantPoint Settings::activation(ValueId value) const {
  const ValueOverride& chosen = rules_.of(value);
  QuantPoint result = point(value, Role::kActivation, config_->activations, chosen,
                            activation_storage(value, chosen));
  if (const auto stated = stated_parameters(*graph_, value); stated && !chosen.calibrator) {
    result.spec = {.storage = stated->storage};
    result.calibrator = {.name = "fixed",
                         .options = {{"scale", static_cast<double>(stated->scale[0])},
                                     {"zero_point", stated->zero_point[0]}}};
    return result;
  }
  result.spec.symmetric = result.spec.symmetric || target_->activation_symmetric;
  result.spec.narrow_range = result.spec.narrow_range || target_->activation_narrow;
  if (const auto producer = graph_->producer(value); producer && !chosen.calibrator) {
    const auto fix = [&](const Range& range) {
      result.calibrator = {.name = "fixed",
                           .options = {{"low", range.low}, {"high", range.high}}};
    };
    for (const FixedRange& fixed : target_->fixed_ranges) {
      if (fixed.op == graph_->node(*producer).op) {
        fix(fixed.range(result.spec.storage));
      }
    }
    if (const auto table = looked_up_range(*graph_, graph_->node(*producer))) {
      fix(*table);
    }
  }
  return result;
}

namespace {

bool is_coarse(const QuantSpec& spec) {
  constexpr int kFewBits = 4;
  return spec.bits != 0 && spec.bits <= kFewBits && spec.block == 0;
}

/// With few steps it pays to cut off the largest weights, so that steps are finer for all
/// others. In blocks the range is fitted to what the layer reads, see fit_block_ranges().
const char* weight_calibrator(const QuantSpec& spec) {
  return is_coarse(spec) ? "mse" : "max";
}

}  // namespace

bool Settings::has_free_zero(const QuantSpec& weight) const {
  return is_coarse(weight) && !target_->packs_weights && !target_->weight_bits;
}

QuantPoint Settings::weight(const Node& node, ValueId value, int axis) const {
  const ValueConfig& general = config_->weights;
  const ValueOverride& own = rule(node).weights;
  QuantPoint result = point(value, Role::kWeight, general, own, target_->weight_storage);
  result.spec.block = weight_block(node);
  const bool symmetric = general.symmetric.value_or(!has_free_zero(result.spec));
  result.spec.symmetric = own.symmetric.value_or(symmetric);
  result.spec.narrow_range =
      own.narrow.value_or(general.narrow.value_or(result.spec.symmetric));
  if (result.spec.block != 0) {
    result.spec.granularity = Granularity::kPerAxis;
  } else if (target_->weight_granularity == Granularity::kPerTensor) {
    result.spec.granularity = Granularity::kPerTensor;
  }
  result.spec.axis = result.spec.granularity == Granularity::kPerAxis ? axis : 0;
  if (result.calibrator.name == "auto") {
    result.calibrator = {.name = weight_calibrator(result.spec), .options = {}};
  }
  return result;
}

QuantPoint Settings::point(ValueId value, Role role, const ValueConfig& general,
                           const ValueOverride& own, DType automatic) const {
  QuantPoint result;
  result.name = graph_->name(value);
  result.value = value;
  result.role = role;
  const std::optional<int>& usual =
      role == Role::kActivation ? target_->activation_bits : target_->weight_bits;
  const std::optional<int> bits = own.bits ? own.bits : general.bits ? general.bits : usual;
  result.spec.storage = own.storage.value_or(general.storage.value_or(
      bits.value_or(0) > 8 ? wide_storage(*target_, automatic) : automatic));
  result.spec.granularity = own.granularity.value_or(general.granularity);
  result.spec.symmetric = own.symmetric.value_or(general.symmetric.value_or(false));
  result.spec.narrow_range = own.narrow.value_or(general.narrow.value_or(false));
  const bool is_part = bits && *bits < static_cast<int>(8 * size_of(result.spec.storage));
  result.spec.bits = is_part ? *bits : 0;
  result.spec.power_of_two =
      target_->power_of_two || own.power_of_two.value_or(general.power_of_two);
  result.calibrator = own.calibrator.value_or(general.calibrator);
  return result;
}

}  // namespace tare
