// A network of float16, bfloat16 or float64 as one of float32 (docs/decisions/0041).
#include "tare/graph.h"

#include "graph/arithmetic/onnx_number.h"
#include "graph/operators/float_types.h"
#include "graph/operators/inner_graphs.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace tare {
namespace {

bool is_other_float(DType dtype) {
  return is_float(dtype) && dtype != DType::kFloat32;
}

/// Integers of up to 32 bits; those of 64 are positions and extents.
bool is_storage(DType dtype) {
  return is_integer(dtype) && size_of(dtype) <= sizeof(std::int32_t);
}

class ToFloat32 {
 public:
  /// `is_inner`: of a graph inside of a node, whose results are to have the types that the
  /// node's get.
  explicit ToFloat32(Graph graph, bool is_inner = false)
      : graph_(std::move(graph)), is_inner_(is_inner) {}

  Graph run() {
    const std::vector<ValueId> values = graph_.values();
    if (std::none_of(values.begin(), values.end(), [&](ValueId id) { return is_other(id); })) {
      return std::move(graph_);
    }
    const std::vector<NodeId> order = graph_.topological_order();
    if (!is_inner_) {
      find_exact(order);
    }
    remember_types(values);
    for (const ValueId id : values) {
      if (graph_.constant(id) != nullptr) {
        convert_constant(id);
      } else if (is_other(id) && !exact_values_.contains(id)) {
        retype(id);
      }
    }
    for (const NodeId id : order) {
      if (!exact_nodes_.contains(id)) {
        convert_attributes(id);
      }
    }
    for (const NodeId id : exact_nodes_) {
      cast_operands(id);
    }
    for (const NodeId id : order) {
      if (!exact_nodes_.contains(id)) {
        drop_cast(id);
      }
    }
    return std::move(graph_);
  }

 private:
  bool is_other(ValueId id) const {
    const TensorType& type = graph_.type(id);
    return is_other_float(type.dtype) && !type.quant;
  }

  /// What is computed in float64 from storage values and their sums needs its digits, as the
  /// arithmetic of our integer form does.
  void find_exact(const std::vector<NodeId>& order) {
    for (const NodeId id : order) {
      const Node& node = graph_.node(id);
      const bool begins = node.op == "Cast" && is_storage(graph_.type(node.inputs[0]).dtype) &&
                          graph_.type(node.outputs[0]).dtype == DType::kFloat64;
      const bool reads =
          std::any_of(node.inputs.begin(), node.inputs.end(),
                      [&](ValueId input) { return exact_values_.contains(input); });
      if (!begins && !reads) {
        continue;
      }
      exact_nodes_.insert(id);
      for (const ValueId result : node.outputs) {
        if (graph_.type(result).dtype == DType::kFloat64) {
          exact_values_.insert(result);
        }
      }
    }
  }

  /// Constants have the type of what reads them.
  void remember_types(const std::vector<ValueId>& values) {
    const bool are_exact = std::all_of(values.begin(), values.end(), [&](ValueId id) {
      return !is_other(id) || graph_.constant(id) != nullptr || exact_values_.contains(id);
    });
    for (const ValueId id : values) {
      const TensorType& type = graph_.type(id);
      if (!are_exact && is_float(type.dtype) && !type.quant && !graph_.constant(id) &&
          !exact_values_.contains(id)) {
        graph_.file_types.insert_or_assign(graph_.name(id), type.dtype);
      }
    }
  }

  void convert_constant(ValueId id) {
    if (!is_other(id)) {
      return;
    }
    const std::string name = graph_.name(id);
    const ValueId converted = graph_.add_constant(
        graph_.unique_name(name), in_float_type(*graph_.constant(id), DType::kFloat32));
    const std::vector<NodeId> users = graph_.users(id);
    if (std::none_of(users.begin(), users.end(),
                     [&](NodeId user) { return exact_nodes_.contains(user); })) {
      graph_.replace_uses(id, converted);
      graph_.erase(id);
      graph_.rename(converted, name);
      return;
    }
    for (const NodeId user : users) {
      for (std::size_t i = 0; i < graph_.node(user).inputs.size(); ++i) {
        if (graph_.node(user).inputs[i] == id && !exact_nodes_.contains(user)) {
          graph_.set_input(user, i, converted);
        }
      }
    }
    if (graph_.users(converted).empty()) {
      graph_.erase(converted);
    }
  }

  void retype(ValueId id) {
    TensorType type = graph_.type(id);
    if (type.dtype == DType::kFloat64) {
      from_float64_.insert(id);
    }
    type.dtype = DType::kFloat32;
    graph_.set_type(id, std::move(type));
  }

  void convert_attributes(NodeId id) {
    constexpr std::array kNumbers{"to", "dtype", "output_datatype"};
    constexpr std::array kOthers{DType::kFloat16, DType::kBfloat16, DType::kFloat64};
    const Node& node = graph_.node(id);
    Attributes attributes = node.attributes;
    for (const auto& [name, value] : node.attributes.items()) {
      const auto* tensor = std::get_if<Tensor>(&value);
      const auto* number = std::get_if<std::int64_t>(&value);
      if (tensor != nullptr && is_other_float(tensor->dtype())) {
        attributes.set(name, in_float_type(*tensor, DType::kFloat32));
      } else if (number != nullptr &&
                 std::find(kNumbers.begin(), kNumbers.end(), name) != kNumbers.end() &&
                 std::any_of(kOthers.begin(), kOthers.end(),
                             [&](DType dtype) { return onnx_number(dtype) == *number; })) {
        attributes.set(name, onnx_number(DType::kFloat32));
      }
    }
    for (const std::string& name : graph_attributes(node.op)) {
      Graph inner = ToFloat32(inner_graph(node, name), true).run();
      inner.file_types.clear();
      attributes.set(name, print(inner));
    }
    if (!(attributes == node.attributes)) {
      graph_.set_attributes(id, std::move(attributes));
    }
  }

  /// Between floating types nothing is left to do.
  void drop_cast(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.op != "Cast" && node.op != "CastLike") {
      return;
    }
    const ValueId from = node.inputs[0];
    const ValueId to = node.outputs[0];
    // Values of the interface keep their names.
    const bool is_named =
        graph_.is_output(to) && (graph_.is_output(from) || !graph_.producer(from).has_value());
    if (graph_.type(from).dtype != DType::kFloat32 ||
        graph_.type(to).dtype != DType::kFloat32 || is_named) {
      return;
    }
    if (graph_.is_output(to)) {
      // The name goes to what computes it, whose own type is then that of its operands.
      const auto declared = graph_.file_types.find(graph_.name(to));
      if (declared != graph_.file_types.end() && declared->second == DType::kFloat32) {
        graph_.file_types.erase(declared);
      }
    }
    graph_.replace_uses(to, from);
    graph_.erase(id);
  }

  void cast_operands(NodeId id) {
    const std::vector<ValueId> inputs = graph_.node(id).inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i] || !from_float64_.contains(inputs[i])) {
        continue;
      }
      const std::string name = graph_.unique_name(graph_.name(inputs[i]) + "_f64");
      TensorType type = graph_.type(inputs[i]);
      type.dtype = DType::kFloat64;
      const NodeId cast = graph_.add_node(name, "Cast", {inputs[i]}, {{name, std::move(type)}},
                                          {{"to", onnx_number(DType::kFloat64)}});
      graph_.set_input(id, i, graph_.node(cast).outputs[0]);
    }
  }

  Graph graph_;
  bool is_inner_ = false;
  std::set<ValueId> from_float64_;  ///< computed values that are float32 now
  std::set<ValueId> exact_values_;  ///< float64, and stay so
  std::set<NodeId> exact_nodes_;    ///< that compute or read them
};

}  // namespace

Graph in_float32(Graph graph) {
  return ToFloat32(std::move(graph)).run();
}

}  // namespace tare
