// Goes back from a value to what fixes its extent: a number in the target of a Reshape, a
// constant, an input whose extent is not open. Of what lies between, operators that keep the
// shape of an operand are known, those that broadcast, and products with constant weights.
#include "graph/operators/fixed_extents.h"

#include "graph/operators/affine_ops.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace tare {
namespace {

/// Values looked at for one extent.
constexpr int kMostSteps = 64;

class Search {
 public:
  explicit Search(const Graph& graph) : graph_(graph) {}

  bool is_fixed(ValueId value, std::size_t axis) {
    if (!value || axis >= rank(value)) {
      return false;
    }
    if (graph_.constant(value) != nullptr) {
      return true;
    }
    if (graph_.is_input(value)) {
      const auto names = graph_.dimension_names.find(graph_.name(value));
      return names == graph_.dimension_names.end() || axis >= names->second.size() ||
             names->second[axis].empty();
    }
    const auto producer = graph_.producer(value);
    return producer && ++steps_ <= kMostSteps && !graph_.node(*producer).inputs.empty() &&
           is_fixed_by(graph_.node(*producer), value, axis);
  }

 private:
  std::size_t rank(ValueId value) const { return graph_.type(value).shape.size(); }

  bool is_fixed_by(const Node& node, ValueId value, std::size_t axis) {
    static const std::set<std::string_view> kBroadcast{"Add", "Div", "Max", "Min",
                                                       "Mul", "Pow", "Sub", "Where"};
    static const std::set<std::string_view> kKeep{
        "BatchNormalization", "Cast",    "DequantizeLinear", "Dequantize", "Identity",
        "LayerNormalization", "Softmax", "QuantizeLinear",   "Quantize"};
    if (node.op == "Reshape") {
      const auto target = constant_integers(graph_, node, 1);
      return target && axis < target->size() &&
             ((*target)[axis] > 0 || ((*target)[axis] == 0 && is_fixed(node.inputs[0], axis)));
    }
    if (node.op == "Transpose") {
      const auto order = node.attributes.integers("perm", {});
      return axis < order.size() &&
             is_fixed(node.inputs[0], static_cast<std::size_t>(order[axis]));
    }
    if (node.op == "MatMul" && axis + 1 == rank(value)) {
      return rank(node.inputs[1]) > 1 && is_fixed(node.inputs[1], rank(node.inputs[1]) - 1);
    }
    if (kBroadcast.contains(node.op)) {
      return std::any_of(node.inputs.begin(), node.inputs.end(),
                         [&](ValueId operand) { return gives_extent(operand, value, axis); });
    }
    const AffineOp* row = find_affine_op(graph_, node);
    const bool keeps = kKeep.contains(node.op) || is_activation(node) ||
                       (row != nullptr && row->rule == AffineRule::kTabulates);
    return keeps && is_fixed(node.inputs[0], axis);
  }

  /// Whether the operand alone makes the extent of the result that of its own: where it is more
  /// than 1, it is that of all operands that are not 1.
  bool gives_extent(ValueId operand, ValueId result, std::size_t axis) {
    const std::size_t missing = rank(result) - rank(operand);
    if (axis < missing) {
      return false;
    }
    return graph_.type(operand).shape[axis - missing] > 1 && is_fixed(operand, axis - missing);
  }

  const Graph& graph_;
  int steps_ = 0;
};

}  // namespace

bool is_fixed_extent(const Graph& graph, ValueId value, std::size_t axis) {
  return Search(graph).is_fixed(value, axis);
}

}  // namespace tare
