#include "graph/affine_ops.h"
#include "lower/affine_rewrites.h"
#include "lower/conversions.h"

#include <algorithm>
#include <optional>

namespace tare {
namespace {

/// 8-bit activations move; int32 accumulators stay next to the operator that made them, where
/// hardware requantizes them.
bool is_activation_storage(const TensorType& type) {
  return type.quant && !type.quant->per_axis() && type.quant->storage != DType::kInt32;
}

/// Storage values behind a Dequantize, or absent.
ValueId stored(const Graph& graph, ValueId value) {
  if (!is_op(graph, value, "Dequantize")) {
    return {};
  }
  const ValueId storage = operand_of(graph, value);
  return is_activation_storage(graph.type(storage)) ? storage : ValueId{};
}

class Expander {
 public:
  explicit Expander(Graph& graph) : graph_(graph) {}

  bool try_at(NodeId id) {
    const Node& node = graph_.node(id);
    const AffineOp* row = find_affine_op(node.op);
    if (row == nullptr || graph_.type(node.outputs[0]).dtype != DType::kFloat32) {
      return false;
    }
    return row->rule == AffineRule::kRounds ? absorb(id, *row) : move(id, row->rule);
  }

 private:
  /// The parameters that every reader of every result asks for, when all of them agree.
  std::optional<TensorType> demanded(const Node& node) const {
    std::optional<TensorType> wanted;
    for (const ValueId output : node.outputs) {
      if (graph_.is_output(output) || graph_.users(output).empty()) {
        return std::nullopt;
      }
      for (const NodeId user : graph_.users(output)) {
        const Node& reader = graph_.node(user);
        const TensorType& type = graph_.type(reader.outputs[0]);
        if (reader.op != "Quantize" || (wanted && wanted->quant != type.quant)) {
          return std::nullopt;
        }
        wanted = type;
      }
    }
    return wanted;
  }

  bool move(NodeId id, AffineRule rule) {
    const Node node = graph_.node(id);
    if (const auto type = demanded(node)) {
      std::vector<ValueId> operands = node.inputs;
      operands[0] = quantized(operands[0], *type);
      const Node moved = on_storage(node, operands, *type);
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        replace_quantizers(node.outputs[i], moved.outputs[i]);
      }
      return true;
    }
    const ValueId storage = stored(graph_, node.inputs[0]);
    if (storage && rule != AffineRule::kClamps) {
      std::vector<ValueId> operands = node.inputs;
      operands[0] = storage;
      const Node moved = on_storage(node, operands, graph_.type(storage));
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        const ValueId expressed = add_dequantize(
            graph_, moved.outputs[i], graph_.name(moved.outputs[i]) + "_dequantized");
        graph_.replace_uses(node.outputs[i], expressed);
      }
      return true;
    }
    return false;
  }

  bool absorb(NodeId id, const AffineOp& row) {
    const Node node = graph_.node(id);
    const auto type = demanded(node);
    if (!type) {
      return false;
    }
    std::vector<ValueId> operands = node.inputs;
    const std::size_t data = row.all_operands ? operands.size() : 1;
    for (std::size_t i = 0; i < data; ++i) {
      operands[i] = stored(graph_, operands[i]);
      // A Concat only moves elements once its operands have the result's parameters.
      if (!operands[i] && node.op == "Concat" && !is_op(graph_, node.inputs[i], "Dequantize")) {
        operands[i] = quantized(node.inputs[i], *type);
      }
      if (!operands[i]) {
        return false;
      }
    }
    replace_quantizers(node.outputs[0], on_storage(node, operands, *type).outputs[0]);
    return true;
  }

  ValueId quantized(ValueId expressed, TensorType like) {
    like.shape = graph_.type(expressed).shape;
    return add_quantize(graph_, expressed, like, graph_.name(expressed) + "_quantized");
  }

  /// The same operator over storage values of the given parameters.
  Node on_storage(const Node& node, const std::vector<ValueId>& operands,
                  const TensorType& like) {
    std::vector<Graph::Result> results;
    for (const ValueId output : node.outputs) {
      TensorType type = like;
      type.shape = graph_.type(output).shape;
      results.push_back({graph_.unique_name(graph_.name(output) + "_storage"), type});
    }
    const NodeId id = graph_.add_node(graph_.unique_name(node.name + "_storage"), node.op,
                                      operands, std::move(results), node.attributes);
    return graph_.node(id);
  }

  void replace_quantizers(ValueId expressed, ValueId storage) {
    const std::vector<NodeId> quantizers = graph_.users(expressed);
    for (const NodeId quantizer : quantizers) {
      graph_.replace_uses(graph_.node(quantizer).outputs[0], storage);
    }
  }

  Graph& graph_;
};

}  // namespace

void expand_affine_regions(Graph& graph) {
  for (bool changed = true; changed;) {
    changed = false;
    // What Expander leaves behind is dead, and its readers would hide what is demanded.
    graph.erase_unused();
    for (const NodeId id : graph.topological_order()) {
      changed = Expander(graph).try_at(id) || changed;
    }
  }
}

}  // namespace tare
