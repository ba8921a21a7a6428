#include "tare/accumulator.h"
#include "tare/error.h"
#include "tare/lower.h"

#include <map>
#include <set>

namespace tare {
namespace {

/// Rebuilds an integer graph with float operators between DequantizeLinear and QuantizeLinear.
class QdqBuilder {
 public:
  explicit QdqBuilder(const Graph& integer) : from_(integer) {
    to_.graph_name = integer.graph_name;
    to_.opset = integer.opset;
    to_.dimension_names = integer.dimension_names;
  }

  Graph build() {
    for (const ValueId input : from_.inputs()) {
      expressed_[input] = to_.add_input(from_.name(input), from_.type(input));
    }
    for (const NodeId id : from_.topological_order()) {
      const Node& node = from_.node(id);
      if (node.op == "Quantize" || node.op == "Requantize") {
        expressed_of_quantized(node);
      } else if (node.op == "Dequantize") {
        expressed_[node.outputs[0]] = expressed(node.inputs[0]);
      } else {
        copy(node);
      }
    }
    std::vector<ValueId> outputs;
    for (const ValueId output : from_.outputs()) {
      outputs.push_back(named_output(output));
    }
    to_.set_outputs(outputs);
    to_.erase_unused();
    verify(to_);
    return std::move(to_);
  }

 private:
  static bool is_accumulator(const TensorType& type) {
    return type.quant && type.quant->storage == DType::kInt32;
  }

  /// The float value that stands for a value of the integer graph.
  ValueId expressed(ValueId value) {
    if (const auto found = expressed_.find(value); found != expressed_.end()) {
      return found->second;
    }
    const TensorType& type = from_.type(value);
    ValueId result;
    if (!type.quant) {
      result = to_.add_constant(from_.name(value), *from_.constant(value), type);
    } else {
      const ValueId storage =
          from_.constant(value) != nullptr
              ? to_.add_constant(from_.name(value), *from_.constant(value), plain(type))
              : storage_.at(value);
      result = linear("DequantizeLinear", storage, type, DType::kFloat32,
                      from_.name(value) + "_dequantized");
    }
    expressed_[value] = result;
    return result;
  }

  void copy(const Node& node) {
    std::vector<ValueId> operands;
    for (const ValueId input : node.inputs) {
      operands.push_back(input ? expressed(input) : ValueId{});
    }
    std::vector<Graph::Result> results;
    for (const ValueId output : node.outputs) {
      TensorType type = plain(from_.type(output));
      if (from_.type(output).quant) {
        type.dtype = DType::kFloat32;
      }
      results.push_back({to_.unique_name(from_.name(output)), type});
    }
    Attributes attributes = node.attributes;
    set_accumulator(attributes, {});
    const NodeId id = to_.add_node(to_.unique_name(node.name), node.op, operands,
                                   std::move(results), std::move(attributes));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId result = to_.node(id).outputs[i];
      const TensorType& type = from_.type(node.outputs[i]);
      if (type.quant && !is_accumulator(type)) {
        storage_[node.outputs[i]] = linear("QuantizeLinear", result, type, type.quant->storage,
                                           to_.name(result) + "_quantized");
      } else {
        expressed_[node.outputs[i]] = result;
      }
    }
  }

  void expressed_of_quantized(const Node& node) {
    const TensorType& type = from_.type(node.outputs[0]);
    storage_[node.outputs[0]] = linear("QuantizeLinear", expressed(node.inputs[0]), type,
                                       type.quant->storage, from_.name(node.outputs[0]));
  }

  static TensorType plain(TensorType type) {
    type.quant.reset();
    type.point.clear();
    return type;
  }

  ValueId linear(const std::string& op, ValueId x, const TensorType& like, DType result,
                 const std::string& name) {
    const auto [scale, zero_point] = parameters(like);
    Attributes attributes;
    if (like.quant->axis) {
      attributes.set("axis", static_cast<std::int64_t>(*like.quant->axis));
    }
    const TensorType type{.dtype = result, .shape = like.shape, .quant = {}, .point = {}};
    const NodeId id = to_.add_node("", op, {x, scale, zero_point},
                                   {{to_.unique_name(name), type}}, attributes);
    return to_.node(id).outputs[0];
  }

  /// Scale and zero point constants, shared by everything quantized the same way.
  std::pair<ValueId, ValueId> parameters(const TensorType& type) {
    const QuantParams& params = *type.quant;
    for (const auto& [known, ids] : parameters_) {
      if (known == params) {
        return ids;
      }
    }
    const Shape shape =
        params.axis ? Shape{static_cast<std::int64_t>(params.scale.size())} : Shape{};
    const std::string name = type.point.empty() ? "quantization" : type.point;
    const std::pair ids{
        to_.add_constant(to_.unique_name(name + "_scale"),
                         Tensor::of<float>(shape, params.scale)),
        to_.add_constant(to_.unique_name(name + "_zero_point"), converted(params, shape))};
    parameters_.emplace_back(params, ids);
    return ids;
  }

  /// Zero points in the storage type.
  static Tensor converted(const QuantParams& params, const Shape& shape) {
    QuantParams unit;
    unit.storage = params.storage;
    std::vector<float> values(params.zero_point.begin(), params.zero_point.end());
    return quantize(Tensor::of<float>(shape, values), unit);
  }

  /// Graph outputs keep their names, whatever computes them now. One that holds storage values
  /// stays an integer.
  ValueId named_output(ValueId output) {
    const auto stored = storage_.find(output);
    const ValueId value = stored != storage_.end() ? stored->second : expressed(output);
    to_.rename(value, from_.name(output));
    return value;
  }

  const Graph& from_;
  Graph to_;
  std::map<ValueId, ValueId> expressed_;
  std::map<ValueId, ValueId> storage_;
  std::vector<std::pair<QuantParams, std::pair<ValueId, ValueId>>> parameters_;
};

}  // namespace

Graph to_qdq(const Graph& integer) {
  return QdqBuilder(integer).build();
}

}  // namespace tare
