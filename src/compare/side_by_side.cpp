// Puts the float network, the quantized one and each quantized layer with exact inputs into one
// graph. Local errors need every layer to run on inputs without error, and as copies in one
// graph these share the float values and the constants, and one pass over the samples does.
// Copies are added depth first, right behind the float value that they are compared with, so
// that it need not wait long. Time: linear in the size of the result.
#include "compare/side_by_side.h"

#include "tare/error.h"

#include "graph/operators/rectified_sum.h"
#include "lower/conversions.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

namespace tare {
namespace {

class Builder {
 public:
  Builder(const Graph& real, const std::map<std::string, Tensor>& divisors,
          const Graph& integer, const Comparison& comparison)
      : real_(real), integer_(integer), comparison_(comparison) {
    graph().dimension_names = real.dimension_names;  // so that it can be reshaped as well
    graph().reshape = real.reshape;
    for (const auto& [name, divisor] : divisors) {
      if (const auto value = real.find_value(name)) {
        divisors_.emplace(
            *value, graph().add_constant(graph().unique_name(name + "_divisor"), divisor));
      }
    }
    for (const ComparedLayer& layer : comparison.layers) {
      boundaries_.insert(layer.real);
      layers_at_.emplace(layer.real, layers_at_.size());
    }
    for (const ComparedPoint& point : comparison.points) {
      points_at_.emplace(point.real, points_at_.size());
    }
    for (const ValueId input : real.inputs()) {
      boundaries_.insert(input);
      reals_.emplace(input, graph().add_input(real.name(input), real.type(input)));
    }
    require_same_interface();
  }

  SideBySide build() {
    result_.layer_real.resize(comparison_.layers.size());
    result_.layer_local.resize(comparison_.layers.size());
    result_.layer_cumulative.resize(comparison_.layers.size());
    result_.point_real.resize(comparison_.points.size());
    result_.point_storage.resize(comparison_.points.size());
    result_.point_visible.resize(comparison_.points.size());
    for (const ValueId input : real_.inputs()) {
      compare_at(input);
    }
    for (const NodeId id : real_.topological_order()) {
      for (const ValueId value : real_.node(id).outputs) {
        add_real(value);
        compare_at(value);
      }
    }
    std::vector<ValueId> outputs;
    for (const ValueId output : real_.outputs()) {
      outputs.push_back(add_real(output));
    }
    for (const ValueId output : integer_.outputs()) {
      outputs.push_back(add_quantized(output));
    }
    graph().set_outputs(std::move(outputs));
    return std::move(result_);
  }

 private:
  using Copies = std::map<ValueId, ValueId>;

  Graph& graph() { return result_.graph; }

  void require_same_interface() const {
    Faults faults;
    const auto require = [&](const char* kind, auto real, auto integer) {
      if (real.size() != integer.size()) {
        faults.add("quantized model",
                   "has " + std::to_string(integer.size()) + " " + kind + "s",
                   std::to_string(real.size()) + " as the float model");
        return;
      }
      for (std::size_t i = 0; i < real.size(); ++i) {
        const TensorType& wanted = real_.type(real[i]);
        const TensorType& found = integer_.type(integer[i]);
        if (wanted.dtype != found.dtype || wanted.shape != found.shape) {
          faults.add(std::string(kind) + " '" + integer_.name(integer[i]) + "'",
                     "is " + text(found) + " in the quantized model",
                     text(wanted) + " as in the float model");
        }
      }
    };
    require("input", real_.inputs(), integer_.inputs());
    require("output", real_.outputs(), integer_.outputs());
    faults.raise(ErrorCode::kInvalidModel);
  }

  static std::string text(const TensorType& type) {
    return std::string(name_of(type.dtype)) + to_string(type.shape);
  }

  /// Adds what is compared with that float value.
  void compare_at(ValueId value) {
    const auto [point, last_point] = points_at_.equal_range(value);
    for (auto at = point; at != last_point; ++at) {
      const std::size_t i = at->second;
      result_.point_real[i] = add_divided(value);
      const ComparedPoint& compared = comparison_.points[i];
      result_.point_storage[i] = round(value, integer_.type(compared.storage));
      if (compared.other) {
        result_.point_visible[i] = add_visible_part(graph(), result_.point_real[i],
                                                    hiding_bound(add_divided(compared.other)));
      }
    }
    const auto [layer, last_layer] = layers_at_.equal_range(value);
    for (auto at = layer; at != last_layer; ++at) {
      const std::size_t i = at->second;
      const ComparedLayer& compared = comparison_.layers[i];
      result_.layer_real[i] = add_real(value);
      result_.layer_cumulative[i] = multiplied_back(add_quantized(compared.quantized), value);
      Copies copies;
      result_.layer_local[i] =
          multiplied_back(add_local(compared, compared.quantized, copies), value);
      if (compared.other) {
        const ValueId bound = hiding_bound(add_real(compared.other));
        for (auto* results :
             {&result_.layer_real, &result_.layer_cumulative, &result_.layer_local}) {
          (*results)[i] = add_visible_part(graph(), expressed((*results)[i], value), bound);
        }
      }
    }
  }

  ValueId add_real(ValueId value) {
    return add(real_, value, reals_, [this](ValueId operand) { return add_real(operand); });
  }

  /// The float value as the quantized network has it.
  ValueId add_divided(ValueId value) {
    const ValueId real = add_real(value);
    const auto divisor = divisors_.find(value);
    if (divisor == divisors_.end()) {
      return real;
    }
    const auto [found, is_new] = divided_.try_emplace(value);
    if (is_new) {
      found->second = add_elementwise("Div", real, divisor->second);
    }
    return found->second;
  }

  /// What stands for a float value in the quantized network, in real values of that one.
  ValueId multiplied_back(ValueId quantized, ValueId value) {
    const auto divisor = divisors_.find(value);
    if (divisor == divisors_.end()) {
      return quantized;
    }
    return add_elementwise("Mul", expressed(quantized, value), divisor->second);
  }

  /// What stands for a float value, in real values.
  ValueId expressed(ValueId quantized, ValueId value) {
    return graph().type(quantized).quant
               ? add_dequantize(graph(), quantized,
                                graph().unique_name(real_.name(value) + "_expressed"))
               : quantized;
  }

  ValueId hiding_bound(ValueId other) {
    const auto [found, is_new] = bounds_.try_emplace(other);
    if (is_new) {
      found->second = add_hiding_bound(graph(), other);
    }
    return found->second;
  }

  ValueId add_elementwise(const char* op, ValueId value, ValueId constant) {
    const TensorType type{
        .dtype = DType::kFloat32, .shape = graph().type(value).shape, .quant = {}, .point = {}};
    const std::string name = graph().unique_name(graph().name(value) + "_" + op);
    const NodeId id = graph().add_node(name, op, {value, constant}, {{name, type}});
    return graph().node(id).outputs[0];
  }

  ValueId add_quantized(ValueId value) {
    if (integer_.is_input(value)) {
      return add_real(comparison_.same.values.at(value));
    }
    return add(integer_, value, quantized_,
               [this](ValueId operand) { return add_quantized(operand); });
  }

  /// A value of a layer whose inputs are those of the float network, rounded where the
  /// quantized one rounds them.
  ValueId add_local(const ComparedLayer& layer, ValueId value, Copies& copies) {
    if (integer_.is_input(value) || is_weight(value)) {
      return add_quantized(value);
    }
    if (const auto real = exact_input(layer, value)) {
      const TensorType& type = integer_.type(value);
      return type.quant ? round(*real, type) : add_divided(*real);
    }
    return add(integer_, value, copies,
               [&](ValueId operand) { return add_local(layer, operand, copies); });
  }

  /// Whether it is a constant, or one expressed as real values.
  bool is_weight(ValueId value) const {
    return integer_.constant(value) != nullptr ||
           (is_op(integer_, value, "Dequantize") &&
            integer_.constant(operand_of(integer_, value)) != nullptr);
  }

  /// The float value where the layer begins; nothing inside of it.
  std::optional<ValueId> exact_input(const ComparedLayer& layer, ValueId value) const {
    const auto found = comparison_.same.values.find(value);
    if (found == comparison_.same.values.end() || found->second == layer.real ||
        !boundaries_.contains(found->second)) {
      return std::nullopt;
    }
    const TensorType& type = integer_.type(value);
    const bool expresses_rounded =
        is_op(integer_, value, "Dequantize") &&
        is_rounded_activation(integer_.type(operand_of(integer_, value)));
    const bool begins = type.quant ? is_rounded_activation(type) : !expresses_rounded;
    return begins ? std::optional(found->second) : std::nullopt;
  }

  /// The float value as storage values of those parameters.
  ValueId round(ValueId real, TensorType type) {
    type.shape = real_.type(real).shape;
    auto& known = rounded_[real];
    for (const auto& [params, value] : known) {
      if (params == *type.quant) {
        return value;
      }
    }
    const std::string name = graph().unique_name(real_.name(real) + "_rounded");
    const ValueId value = add_quantize(graph(), add_divided(real), type, name);
    known.emplace_back(*type.quant, value);
    return value;
  }

  template <class AddOperand>
  ValueId add(const Graph& from, ValueId value, Copies& copies, const AddOperand& add_operand) {
    if (const auto known = copies.find(value); known != copies.end()) {
      return known->second;
    }
    if (const Tensor* constant = from.constant(value)) {
      const ValueId copy = graph().add_constant(graph().unique_name(from.name(value)),
                                                *constant, from.type(value));
      return copies.emplace(value, copy).first->second;
    }
    const Node& node = from.node(*from.producer(value));
    std::vector<ValueId> operands;
    for (const ValueId operand : node.inputs) {
      operands.push_back(operand ? add_operand(operand) : operand);
    }
    std::vector<NamedType> results;
    for (const ValueId output : node.outputs) {
      results.push_back({graph().unique_name(from.name(output)), from.type(output)});
    }
    const NodeId id =
        graph().add_node(graph().unique_name(node.name), node.op, std::move(operands),
                         std::move(results), node.attributes);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      copies.emplace(node.outputs[i], graph().node(id).outputs[i]);
    }
    return copies.at(value);
  }

  const Graph& real_;
  const Graph& integer_;
  const Comparison& comparison_;
  SideBySide result_;
  std::set<ValueId> boundaries_;
  std::multimap<ValueId, std::size_t> layers_at_;  ///< of the comparison, by their result
  std::multimap<ValueId, std::size_t> points_at_;  ///< likewise, by the value that is rounded
  std::map<ValueId, ValueId> divisors_;            ///< of float values: constants
  Copies reals_;
  Copies divided_;
  Copies bounds_;  ///< of values of the result
  Copies quantized_;
  std::map<ValueId, std::vector<std::pair<QuantParams, ValueId>>> rounded_;
};

}  // namespace

SideBySide put_side_by_side(const Graph& prepared,
                            const std::map<std::string, Tensor>& divisors, const Graph& integer,
                            const Comparison& comparison) {
  return Builder(prepared, divisors, integer, comparison).build();
}

}  // namespace tare
