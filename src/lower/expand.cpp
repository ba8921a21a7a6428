// Moves conversions through operators that compute the same on storage values, which TensorRT
// and ONNX Runtime call propagation of Q/DQ: a Quantize up to what is computed, a Dequantize
// down to what needs real values. affine_ops.cpp says of each operator why it may. A Quantize
// moves up only where all readers of all results ask for the same parameters: others would read
// values that were rounded for somebody else.
//
// It ends, as Quantize only ever moves up and Dequantize down. A sweep in topological order
// takes a Dequantize down a whole chain, but a Quantize up one operator only, so the time is
// that of the graph times its longest chain of such operators, at worst.
#include "graph/arithmetic/storage_type.h"
#include "graph/ir/derived_names.h"
#include "graph/operators/affine_ops.h"
#include "lower/affine_rewrites.h"
#include "lower/conversions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace tare {
namespace {

/// Activations move; accumulators stay next to the operator that made them, where
/// hardware requantizes them, and blocks where they are in one piece.
bool is_activation_storage(const TensorType& type) {
  return type.quant && !is_sum_type(type.quant->storage) && type.quant->block == 0;
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
    const AffineOp* row = find_affine_op(graph_, node);
    if (row == nullptr) {
      return false;
    }
    if (row->rule == AffineRule::kCompares) {
      return compare(id);
    }
    if (!is_expressed(node.outputs[0])) {
      return false;
    }
    const bool own_parameters =
        row->rule == AffineRule::kRounds || row->rule == AffineRule::kTabulates;
    return own_parameters ? absorb(id, *row) : move(id, row->rule);
  }

 private:
  /// A real value that may be quantized, unlike the positions that a TopK gives beside values.
  bool is_expressed(ValueId value) const {
    return graph_.type(value).dtype == DType::kFloat32 && !graph_.type(value).quant;
  }

  /// The parameters that every reader of every result asks for, when all of them agree.
  std::optional<TensorType> demanded(const Node& node) const {
    std::optional<TensorType> wanted;
    for (const ValueId output : node.outputs) {
      if (!is_expressed(output)) {
        // Rounding would make equal what was not, and so change positions.
        if (graph_.is_output(output) || !graph_.users(output).empty()) {
          return std::nullopt;
        }
        continue;
      }
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

  /// Only reads the order of values, so storage values serve.
  bool compare(NodeId id) {
    const ValueId storage = stored(graph_, graph_.node(id).inputs[0]);
    if (!storage || graph_.type(storage).quant->per_axis()) {
      return false;
    }
    graph_.set_input(id, 0, storage);
    return true;
  }

  bool move(NodeId id, AffineRule rule) {
    const Node node = graph_.node(id);
    if (const auto type = demanded(node)) {
      const auto before = with_axis(*type, axis_of_operand, node);
      if (!before) {
        return false;
      }
      std::vector<ValueId> operands = node.inputs;
      operands[0] = quantized(operands[0], *before);
      const Node moved = on_storage(node, operands, *type);
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        if (is_expressed(node.outputs[i])) {
          replace_quantizers(node.outputs[i], moved.outputs[i]);
        }
      }
      take_over(node, moved);
      return true;
    }
    const ValueId storage = stored(graph_, node.inputs[0]);
    if (!storage || rule == AffineRule::kClamps) {
      return false;
    }
    const auto after = with_axis(graph_.type(storage), axis_of_result, node);
    if (!after) {
      return false;
    }
    std::vector<ValueId> operands = node.inputs;
    operands[0] = storage;
    const Node moved = on_storage(node, operands, *after);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId result = moved.outputs[i];
      graph_.replace_uses(
          node.outputs[i],
          is_expressed(node.outputs[i])
              ? add_dequantize(graph_, result, dequantized_name(graph_.name(node.outputs[i])))
              : result);
    }
    take_over(node, moved);
    return true;
  }

  using AxisMap = std::optional<int> (*)(const Graph&, const Node&, int);

  /// The type on the other side of a node that moves elements; nothing when channels do not
  /// stay together there.
  std::optional<TensorType> with_axis(TensorType type, AxisMap map, const Node& node) const {
    if (type.quant->axis) {
      const auto axis = map(graph_, node, *type.quant->axis);
      if (!axis) {
        return std::nullopt;
      }
      type.quant->axis = axis;
    }
    return type;
  }

  bool absorb(NodeId id, const AffineOp& row) {
    const Node node = graph_.node(id);
    const auto type = demanded(node);
    if (!type || type->quant->per_axis()) {
      return false;
    }
    std::vector<ValueId> operands = node.inputs;
    const std::size_t data = row.all_operands ? operands.size() : 1;
    for (std::size_t i = 0; i < data; ++i) {
      operands[i] = absorbed(node, i, *type);
      if (!operands[i]) {
        return false;
      }
    }
    // Others are numbers that an operator has beside its data; stored ones are taken as such.
    for (std::size_t i = data; i < operands.size(); ++i) {
      if (const ValueId storage = stored(graph_, operands[i])) {
        operands[i] = storage;
      }
    }
    const Node absorbing = on_storage(node, operands, *type);
    replace_quantizers(node.outputs[0], absorbing.outputs[0]);
    take_over(node, absorbing);
    return true;
  }

  /// Operand i as storage values, or absent when that would take a conversion.
  ValueId absorbed(const Node& node, std::size_t i, const TensorType& result) {
    const ValueId operand = node.inputs[i];
    if (const ValueId storage = stored(graph_, operand)) {
      return storage;
    }
    const Tensor* constant = graph_.constant(operand);
    if (constant != nullptr && constant->size() == 1 && node.op != "Concat") {
      return exact_scalar(operand, *constant, result.quant->storage);
    }
    // A Concat only moves elements once its operands have the result's parameters.
    return node.op == "Concat" ? quantized(operand, result) : ValueId{};
  }

  /// One number, exactly: 1 step from the zero point, or none.
  ValueId exact_scalar(ValueId value, const Tensor& constant, DType storage) {
    const double number = constant.to_double()[0];
    const auto magnitude = static_cast<float>(std::abs(number));
    if (!(magnitude < std::numeric_limits<float>::infinity())) {
      return {};
    }
    TensorType type = graph_.type(value);
    type.dtype = storage;
    type.quant = QuantParams{.storage = storage,
                             .scale = {magnitude > 0 ? magnitude : 1},
                             .zero_point = {1},
                             .axis = {},
                             .narrow_range = false};
    return add_quantize(graph_, value, type, quantized_name(graph_.name(value)));
  }

  ValueId quantized(ValueId expressed, TensorType like) {
    like.shape = graph_.type(expressed).shape;
    return add_quantize(graph_, expressed, like,
                        quantized_name(original_name(graph_.name(expressed))));
  }

  /// The same operator over storage values of the given parameters.
  Node on_storage(const Node& node, const std::vector<ValueId>& operands,
                  const TensorType& like) {
    std::vector<NamedType> results;
    for (const ValueId output : node.outputs) {
      TensorType type = is_expressed(output) ? like : graph_.type(output);
      type.shape = graph_.type(output).shape;
      results.push_back({graph_.unique_name(quantized_name(graph_.name(output))), type});
    }
    const NodeId id = graph_.add_node(graph_.unique_name(node.name), node.op, operands,
                                      std::move(results), node.attributes);
    return graph_.node(id);
  }

  /// The operator over storage values is all that is left of it; what quantized its results has
  /// no readers any more, nor has the operator over real ones.
  void take_over(const Node& before, const Node& after) {
    for (std::size_t i = 0; i < before.outputs.size(); ++i) {
      const ValueId real = before.outputs[i];
      const std::string name = graph_.name(real);
      const std::vector<NodeId> quantizers = graph_.users(real);
      for (const NodeId quantizer : quantizers) {
        graph_.erase(quantizer);
      }
      take_name(graph_, after.outputs[i],
                graph_.type(after.outputs[i]).quant ? quantized_name(name) : name);
    }
    take_place(graph_, *graph_.producer(before.outputs[0]), *graph_.producer(after.outputs[0]));
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
      changed = (graph.alive(id) && Expander(graph).try_at(id)) || changed;
    }
  }
}

}  // namespace tare
