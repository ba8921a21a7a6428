// The way back from float32 to the types that a file has (docs/decisions/0041).
#include "tare/graph.h"

#include "graph/arithmetic/onnx_number.h"
#include "graph/operators/float_types.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace tare {
namespace {

bool is_real(const TensorType& type) {
  return is_float(type.dtype) && !type.quant;
}

class ToFileTypes {
 public:
  explicit ToFileTypes(Graph graph)
      : graph_(std::move(graph)), types_(std::exchange(graph_.file_types, {})) {}

  Graph run() {
    if (types_.empty()) {
      return std::move(graph_);
    }
    for (const ValueId id : graph_.values()) {
      if (is_real(graph_.type(id)) && graph_.type(id).dtype != DType::kFloat32) {
        exact_.insert(id);
      }
    }
    for (const ValueId id : graph_.inputs()) {
      if (is_real(graph_.type(id))) {
        retype(id, declared_type(id));
      }
    }
    for (const NodeId id : graph_.topological_order()) {
      convert(id);
    }
    convert_outputs();
    graph_.erase_unused_constants();
    for (const auto& [id, name] : names_) {
      if (!graph_.find_value(name)) {
        graph_.rename(id, name);
      }
    }
    return std::move(graph_);
  }

 private:
  DType declared_type(ValueId id) const {
    const auto found = types_.find(graph_.name(id));
    return found == types_.end() ? DType::kFloat32 : found->second;
  }

  void retype(ValueId id, DType dtype) {
    TensorType type = graph_.type(id);
    type.dtype = dtype;
    graph_.set_type(id, std::move(type));
  }

  /// What the file says of a result, or else that of an operand: rewriting made the value.
  DType wanted_type(const Node& node) const {
    for (const ValueId id : node.outputs) {
      const auto found = types_.find(graph_.name(id));
      if (is_real(graph_.type(id)) && found != types_.end()) {
        return found->second;
      }
    }
    for (const ValueId id : node.inputs) {
      if (id && is_real(graph_.type(id)) && graph_.constant(id) == nullptr) {
        return graph_.type(id).dtype;
      }
    }
    return DType::kFloat32;
  }

  /// Some operators make real values of a type that only an attribute names.
  static bool names_a_type(const Node& node) {
    return node.attributes.has("dtype") || node.attributes.has("output_datatype") ||
           node.attributes.has("value");
  }

  /// Integer operators, whose real operands are not of the float network.
  bool is_on_storage(const Node& node) const {
    const auto is_stored = [&](ValueId id) { return id && graph_.type(id).quant.has_value(); };
    return std::any_of(node.inputs.begin(), node.inputs.end(), is_stored) ||
           std::any_of(node.outputs.begin(), node.outputs.end(), is_stored);
  }

  /// Among those that in_float32() leaves in float64.
  bool is_exact(const Node& node) const {
    const auto is_one = [&](ValueId id) { return exact_.contains(id); };
    return std::any_of(node.inputs.begin(), node.inputs.end(), is_one) ||
           std::any_of(node.outputs.begin(), node.outputs.end(), is_one);
  }

  /// No number of a constant becomes infinite.
  bool holds_constants(const Node& node, DType dtype) const {
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
      const Tensor* constant = id ? graph_.constant(id) : nullptr;
      if (constant == nullptr || !is_real(graph_.type(id))) {
        return true;
      }
      const std::vector<float> before = constant->to_float();
      const std::vector<float> after = in_float_type(*constant, dtype).to_float();
      return std::equal(before.begin(), before.end(), after.begin(),
                        [](float a, float b) { return std::isfinite(a) == std::isfinite(b); });
    });
  }

  DType type_of(const Node& node) const {
    const DType wanted = wanted_type(node);
    return wanted != DType::kFloat32 && !is_exact(node) && !is_on_storage(node) &&
                   !names_a_type(node) && computes_in(node, wanted, graph_.opset) &&
                   holds_constants(node, wanted)
               ? wanted
               : DType::kFloat32;
  }

  void convert(NodeId id) {
    const DType dtype = type_of(graph_.node(id));
    const std::vector<ValueId> inputs = graph_.node(id).inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] && is_real(graph_.type(inputs[i])) && !exact_.contains(inputs[i])) {
        const bool is_fixed = is_always_float32(graph_.node(id), i);
        graph_.set_input(id, i, in_type(inputs[i], is_fixed ? DType::kFloat32 : dtype));
      }
    }
    for (const ValueId result : graph_.node(id).outputs) {
      if (graph_.type(result).dtype == DType::kFloat32 && !graph_.type(result).quant) {
        retype(result, dtype);
        if (graph_.node(id).op == "Cast") {
          Attributes attributes = graph_.node(id).attributes;
          attributes.set("to", onnx_number(dtype));
          graph_.set_attributes(id, std::move(attributes));
        }
      }
    }
  }

  /// The value in that type: itself, or what a Cast makes of it.
  ValueId in_type(ValueId id, DType dtype) {
    if (graph_.type(id).dtype == dtype) {
      return id;
    }
    const auto [place, is_new] = casts_.try_emplace({id, dtype});
    if (!is_new) {
      return place->second;
    }
    const std::string name =
        graph_.unique_name(graph_.name(id) + "_" + std::string(name_of(dtype)));
    if (const Tensor* constant = graph_.constant(id)) {
      place->second = graph_.add_constant(name, in_float_type(*constant, dtype));
      names_.emplace(place->second, graph_.name(id));
      return place->second;
    }
    return place->second = cast(id, name, dtype);
  }

  ValueId cast(ValueId id, const std::string& name, DType dtype) {
    TensorType type{.dtype = dtype, .shape = graph_.type(id).shape, .quant = {}, .point = {}};
    const NodeId node =
        graph_.add_node(graph_.unique_name(name + "_cast"), "Cast", {id},
                        {{name, std::move(type)}}, {{"to", onnx_number(dtype)}});
    return graph_.node(node).outputs[0];
  }

  /// Those of another type than the file says get a Cast, which takes over their name.
  void convert_outputs() {
    std::vector<ValueId> outputs(graph_.outputs().begin(), graph_.outputs().end());
    for (ValueId& id : outputs) {
      const DType declared = declared_type(id);
      if (!is_real(graph_.type(id)) || graph_.type(id).dtype == declared) {
        continue;
      }
      std::string name = graph_.name(id);
      const std::string own = name + "_" + std::string(name_of(graph_.type(id).dtype));
      graph_.rename(id, graph_.unique_name(own));
      id = cast(id, name, declared);
    }
    graph_.set_outputs(std::move(outputs));
  }

  Graph graph_;
  std::map<std::string, DType> types_;
  std::set<ValueId> exact_;
  std::map<std::pair<ValueId, DType>, ValueId> casts_;
  std::map<ValueId, std::string>
      names_;  ///< of constants, once those that they replace are gone
};

}  // namespace

Graph in_file_types(Graph graph) {
  return ToFileTypes(std::move(graph)).run();
}

}  // namespace tare
