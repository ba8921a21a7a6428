// Which value of a quantized graph stands for which of the float one. Names come first, without
// what quantizers append to them. Where a tool has renamed everything, position tells: of the
// operators that read what a matched node reads, the one of the same kind whose weights are
// nearest to the dequantized ones. So it goes forward from inputs, node by node, and takes each
// float operator once. Cost: linear in the graph, and a pass over weights for each operator
// that has to be found by its position.
#include "compare/match.h"

#include "compare/weight_facts.h"
#include "graph/arithmetic/storage_type.h"
#include "graph/operators/affine_ops.h"
#include "graph/operators/product.h"
#include "lower/conversions.h"
#include "lower/saturation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

namespace tare {
namespace {

/// What lowering, our export and ONNX Runtime's quantizer append to names.
constexpr std::array<std::string_view, 14> kSuffixes{
    "_accumulated",
    "_dequantized",
    "_quantized",
    "_requantized",
    "_storage",
    "_real",
    "_expressed",
    "_QuantizeLinear_Output",
    "_QuantizeLinear_Input",
    "_DequantizeLinear_Output",
    "_DequantizeLinear_Input",
    "_QuantizeLinear",
    "_DequantizeLinear",
    "_quant",
};

/// Without one suffix, or without "_7" where another value had the name; empty when there is
/// nothing to take off.
std::string_view shortened(std::string_view name) {
  for (const std::string_view suffix : kSuffixes) {
    if (name.ends_with(suffix)) {
      return name.substr(0, name.size() - suffix.size());
    }
  }
  const std::size_t end = name.find_last_not_of("0123456789");
  const bool is_numbered =
      end != std::string_view::npos && end + 1 < name.size() && name[end] == '_';
  return is_numbered ? name.substr(0, end) : std::string_view{};
}

class Matcher {
 public:
  Matcher(const Graph& prepared, const Graph& integer) : real_(prepared), integer_(integer) {}

  Correspondence run() {
    match_inputs();
    for (const NodeId id : integer_.topological_order()) {
      const Node& node = integer_.node(id);
      if (is_conversion(node)) {
        convert(node);
      } else {
        compute(id, node);
      }
    }
    return std::move(result_);
  }

 private:
  /// By name; models whose inputs were renamed have them in the same order.
  void match_inputs() {
    for (std::size_t i = 0; i < integer_.inputs().size(); ++i) {
      const ValueId input = integer_.inputs()[i];
      const auto same = real_.find_value(integer_.name(input));
      if (same && real_.is_input(*same)) {
        result_.values.emplace(input, *same);
      } else if (i < real_.inputs().size()) {
        result_.values.emplace(input, real_.inputs()[i]);
      }
    }
  }

  void convert(const Node& node) {
    const ValueId result = node.outputs[0];
    const auto known = result_.values.find(node.inputs[0]);
    const auto value =
        known != result_.values.end() ? std::optional(known->second) : by_name(result);
    if (value) {
      result_.values.emplace(result, past_saturation(*value, result));
    }
  }

  /// What a result of 16 bits is only computed to be rounded to.
  ValueId narrowed(ValueId result) const {
    const std::vector<NodeId>& users = integer_.users(result);
    const TensorType& type = integer_.type(result);
    const bool is_wide = type.quant && !is_sum_type(type.dtype) && size_of(type.dtype) == 2;
    return is_wide && users.size() == 1 && integer_.node(users[0]).op == "Requantize"
               ? integer_.node(users[0]).outputs[0]
               : result;
  }

  /// The value after a Relu or Clip whose work it does that `result` saturates.
  ValueId past_saturation(ValueId value, ValueId result) const {
    const TensorType& type = integer_.type(narrowed(result));
    for (bool changed = type.quant && !is_sum_type(type.quant->storage); changed;) {
      changed = false;
      for (const NodeId user : real_.users(value)) {
        const Node& node = real_.node(user);
        if (node.inputs[0] == value && saturates_like(real_, node, *type.quant)) {
          value = node.outputs[0];
          changed = true;
          break;
        }
      }
    }
    return value;
  }

  void compute(NodeId id, const Node& node) {
    if (const auto original = original_of(node)) {
      result_.nodes.emplace(id, *original);
      taken_.insert(*original);
      const Node& real = real_.node(*original);
      for (std::size_t i = 0; i < std::min(node.outputs.size(), real.outputs.size()); ++i) {
        if (alike(real.outputs[i], node.outputs[i])) {
          result_.values.emplace(node.outputs[i],
                                 past_saturation(real.outputs[i], node.outputs[i]));
        }
      }
      return;
    }
    for (const ValueId output : node.outputs) {
      if (const auto value = by_name(output)) {
        result_.values.emplace(output, *value);
      }
    }
  }

  /// Whether one can stand for the other: storage values for real ones, and anything else for
  /// its like. Integers of the float graph have no parameters, also where that was quantized
  /// before, and stand for nothing that is stored.
  bool alike(ValueId real, ValueId integer) const {
    const TensorType& a = real_.type(real);
    const TensorType& b = integer_.type(integer);
    return a.shape == b.shape && a.dtype == (b.quant ? DType::kFloat32 : b.dtype);
  }

  /// Whether it adds up the integers of that product, whose operand is quantized while the
  /// network runs.
  bool multiplies_for(const Node& integer, const Node& real) const {
    const bool is_kind = integer.op == "ConvInteger" ? real.op == "Conv"
                         : integer.op == "MatMulInteger"
                             ? real.op == "MatMul" || real.op == "Gemm"
                             : integer.op == "DynamicQuantizeLSTM" && real.op == "LSTM";
    return is_kind &&
           real_.type(real.outputs[0]).shape == integer_.type(integer.outputs[0]).shape;
  }

  std::optional<ValueId> by_name(ValueId integer) const {
    for (const std::string& name : original_names(integer_.name(integer))) {
      const auto value = real_.find_value(name);
      if (value && real_.constant(*value) == nullptr && alike(*value, integer)) {
        return value;
      }
    }
    return std::nullopt;
  }

  /// What computes the value, or what it is a Relu or Clip of, if that is such an operator.
  std::optional<NodeId> producer_of_kind(ValueId value, const std::string& op) const {
    for (auto producer = real_.producer(value); producer;
         producer = real_.producer(real_.node(*producer).inputs[0])) {
      const Node& node = real_.node(*producer);
      if (node.op == op) {
        return producer;
      }
      if (!is_activation(node)) {
        break;
      }
    }
    return std::nullopt;
  }

  std::optional<NodeId> original_of(const Node& node) const {
    const auto fits = [&](std::optional<NodeId> id) {
      return id && !taken_.contains(*id) &&
             (multiplies_for(node, real_.node(*id)) ||
              (real_.node(*id).op == node.op &&
               alike(real_.node(*id).outputs[0], node.outputs[0])));
    };
    if (const auto value = by_name(node.outputs[0])) {
      if (const auto producer = producer_of_kind(*value, node.op); fits(producer)) {
        return producer;
      }
    }
    for (const std::string& name : original_names(node.name)) {
      if (const auto found = real_.find_node(name); fits(found)) {
        return found;
      }
    }
    return by_position(node);
  }

  /// Of the operators of that kind that read what the node reads, the one with its weights.
  std::optional<NodeId> by_position(const Node& node) const {
    const auto first =
        node.inputs.empty() ? result_.values.end() : result_.values.find(node.inputs[0]);
    if (first == result_.values.end()) {
      return std::nullopt;
    }
    std::optional<NodeId> best;
    double least = std::numeric_limits<double>::infinity();
    for (const NodeId user : real_.users(first->second)) {
      const Node& candidate = real_.node(user);
      if (candidate.op != node.op || taken_.contains(user) ||
          !alike(candidate.outputs[0], node.outputs[0])) {
        continue;
      }
      const double distance = operand_distance(candidate, node);
      if (distance < least) {
        least = distance;
        best = user;
      }
    }
    return best;
  }

  /// How far the operands are from each other; infinite when they are not the same values.
  double operand_distance(const Node& real, const Node& integer) const {
    constexpr double kOther = std::numeric_limits<double>::infinity();
    if (real.inputs.size() < integer.inputs.size()) {
      return kOther;
    }
    double distance = 0;
    for (std::size_t i = 0; i < integer.inputs.size(); ++i) {
      const ValueId own = integer.inputs[i];
      const ValueId other = real.inputs[i];
      if (!own || !other) {
        continue;
      }
      const auto known = result_.values.find(own);
      if (known != result_.values.end()) {
        if (known->second != other) {
          return kOther;
        }
      } else if (i == 1 && is_product(real) && integer_.constant(own) != nullptr) {
        const auto weights = exact_weights(real_, real, integer_, integer);
        if (!weights) {
          return kOther;
        }
        distance += weight_distance(*weights, own);
      }
    }
    return distance;
  }

  double weight_distance(const Tensor& real, ValueId integer) const {
    const auto& params = integer_.type(integer).quant;
    const Tensor& stored = *integer_.constant(integer);
    const auto own = (params ? dequantize(stored, *params) : stored).to_double();
    const auto other = real.to_double();
    double sum = 0;
    for (std::size_t i = 0; i < own.size(); ++i) {
      sum += std::abs(own[i] - other[i]);
    }
    return sum;
  }

  const Graph& real_;
  const Graph& integer_;
  Correspondence result_;
  std::set<NodeId> taken_;
};

}  // namespace

std::vector<std::string> original_names(std::string_view derived) {
  std::vector<std::string> names;
  for (; !derived.empty(); derived = shortened(derived)) {
    names.emplace_back(derived);
  }
  return names;
}

Correspondence match(const Graph& prepared, const Graph& integer) {
  return Matcher(prepared, integer).run();
}

}  // namespace tare
