// The canonical integer graph of a network, whether it comes from a table or from a file of
// QuantizeLinear and DequantizeLinear. A sum of products of storage values less their zero
// points is an exact integer at the product of both scales, to which a bias in int32 is added,
// and one multiplication by a ratio of scales makes storage values of it again (Jacob et al.,
// "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
// Inference", 2018, section 2). Everything else is bringing conversions to where they meet.
// Both origins end in the same steps, so equal computations become equal graphs.

#include "lower/lower.h"

#include "base/check.h"
#include "graph/arithmetic/node_arithmetic.h"
#include "graph/arithmetic/packed.h"
#include "graph/arithmetic/power_of_two.h"
#include "lower/affine_rewrites.h"
#include "lower/conversions.h"
#include "simulate/quantized_constants.h"
#include "simulate/region_builder.h"

#include <algorithm>

namespace tare {
namespace {

/// Builds the integer form with the parameters of a table.
class IntegerBuilder final : public RegionBuilder {
 public:
  IntegerBuilder(const SimulatedGraph& simulated, const QuantTable& table)
      : RegionBuilder(simulated.source, simulated.arithmetic),
        simulated_(simulated),
        table_(table) {}

  void rewrite(const Region& region) {
    region_ = &region;
    replace(region, region.pattern->quantize(*this, region.match));
  }

  ValueId weight(const Node& reader, ValueId constant, int axis) override {
    for (const std::string& name : region_->points) {
      const PointId id = *simulated_.points.find(name);
      const QuantPoint& point = points()[id];
      const bool same_axis =
          point.spec.granularity == Granularity::kPerTensor || point.spec.axis == axis;
      if (point.value == constant && point.reader && same_axis) {
        return storage(constant, id);
      }
    }
    throw Error(ErrorCode::kInternal, "node '" + reader.name + "'", "its weight has no point");
  }

 private:
  const QuantPoints& points() const override { return simulated_.points; }

  PointId activation_point(ValueId root) override {
    return *simulated_.points.find(source().name(root));
  }

  PointId accumulator_point(const Node& /*reader*/, PointId input, PointId weight,
                            std::optional<ValueId> /*bias*/) override {
    return *simulated_.points.accumulator(input, weight);
  }

  TensorType storage_type(const Shape& shape, const QuantPoint& point) const override {
    const QuantParams& params = table_.at(point.name).params;
    return {.dtype = params.storage, .shape = shape, .quant = params, .point = point.name};
  }

  ValueId add_quantize(ValueId expressed, const TensorType& type, std::string name) override {
    const PointResult& result = table_.at(type.point);
    if (const Tensor* exact = working().constant(expressed)) {
      Tensor integers = quantized_weight(*exact, result);
      TensorType own = type;
      if (!simulated_.target.packs_weights || !is_packed(own)) {
        centre(integers, *own.quant);
      }
      return working().add_constant(working().unique_name(name), integers, own);
    }
    return tare::add_quantize(working(), expressed, type, name);
  }

  ValueId add_bias(ValueId row, const TensorType& type, std::string name) override {
    const Tensor real = corrected_bias(*working().constant(row), table_.at(type.point));
    const Tensor storage = quantize(real, *type.quant);
    const auto values = storage.view<std::int32_t>();
    if (std::all_of(values.begin(), values.end(), [](std::int32_t v) { return v == 0; })) {
      return {};
    }
    return working().add_constant(std::move(name), storage, type);
  }

  std::string_view dequantize_op() const override { return "Dequantize"; }

  const SimulatedGraph& simulated_;
  const QuantTable& table_;
  const Region* region_ = nullptr;  ///< that is being rewritten
};

}  // namespace

bool is_enabled(const Region& region, const QuantTable& table) {
  return std::all_of(region.points.begin(), region.points.end(), [&](const std::string& name) {
    const auto found = table.find(name);
    return found != table.end() && found->second.enabled;
  });
}

namespace {

/// Scales of a table may have been edited.
void require_powers_of_two(const Graph& graph) {
  Faults faults;
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    if (node.op != "Requantize" ||
        requantize_mode(node.attributes).rounding != RequantizeRounding::kShift) {
      continue;
    }
    const auto& from = graph.type(node.inputs[0]).quant->scale;
    const auto to = static_cast<double>(graph.type(node.outputs[0]).quant->scale[0]);
    if (!std::all_of(from.begin(), from.end(), [&](float scale) {
          return is_power_of_two(static_cast<double>(scale) / to);
        })) {
      faults.add(
          "value '" + graph.name(node.outputs[0]) + "'",
          "is to be rescaled by a shift, between scales that are not a power of two apart",
          "scales that are powers of two, or another 'requantize.rounding'");
    }
  }
  faults.raise(ErrorCode::kInvalidConfig);
}

/// One way to say the same: only what is still to be quantized can saturate within its storage
/// type, and one channel is all of them. One block is not: its product is one of real values.
void unify_parameters(Graph& graph) {
  for (const ValueId value : graph.values()) {
    TensorType type = graph.type(value);
    if (type.quant) {
      if (graph.constant(value) != nullptr) {
        type.quant->narrow_range = false;
        type.quant->bits = 0;
      }
      if (type.quant->scale.size() == 1 && type.quant->block == 0) {
        type.quant->axis.reset();
      }
      graph.set_type(value, type);
    }
  }
}

Graph finish(Graph graph, const NetworkArithmetic& arithmetic,
             LoweringStage stage = LoweringStage::kInteger) {
  unify_parameters(graph);
  if (stage != LoweringStage::kAffine) {
    expand_affine_regions(graph);
    spell_one_way(graph);
  }
  if (stage == LoweringStage::kInteger) {
    fold_conversions(graph, arithmetic);
  }
  name_conversions(graph);
  require_powers_of_two(graph);
  verify(graph);
  return graph;
}

}  // namespace

Graph lowered(const SimulatedGraph& simulated, const QuantTable& table, LoweringStage stage) {
  IntegerBuilder builder(simulated, table);
  for (const Region& region : simulated.regions) {
    if (is_enabled(region, table)) {
      builder.rewrite(region);
    }
  }
  for (const Region& region : simulated.regions) {
    if (region.quantized_result && is_enabled(region, table)) {
      builder.quantize_for_all(region.quantized_result);
    }
  }
  Graph graph = builder.take();
  expand_dynamic_products(graph, simulated, table);
  return finish(std::move(graph), simulated.arithmetic, stage);
}

Graph lower(const SimulatedGraph& simulated, const QuantTable& table) {
  return lowered(simulated, table, LoweringStage::kInteger);
}

std::vector<std::string> float_operators(const Graph& integer) {
  const auto is_real = [&](ValueId value) {
    return value && integer.constant(value) == nullptr &&
           integer.type(value).dtype == DType::kFloat32;
  };
  std::vector<std::string> names;
  for (const NodeId id : integer.topological_order()) {
    const Node& node = integer.node(id);
    // A Cast of integers is where real values begin, as an input is.
    const bool begins =
        node.op == "Cast" && std::none_of(node.inputs.begin(), node.inputs.end(), is_real);
    if (node.op != "Quantize" && node.op != "Dequantize" && !begins &&
        (std::any_of(node.inputs.begin(), node.inputs.end(), is_real) ||
         std::any_of(node.outputs.begin(), node.outputs.end(), is_real))) {
      names.push_back(node.name);
    }
  }
  return names;
}

Graph lower(Graph graph, const NetworkArithmetic& arithmetic) {
  expand_affine_regions(graph);  // brings storage values to the factors
  accumulate_products(graph, arithmetic);
  return finish(std::move(graph), arithmetic);
}

}  // namespace tare
