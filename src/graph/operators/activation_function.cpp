// Elementwise operators are collected forward from the value, those first whose operands are
// all known. Whenever a single result is left that others read, they are one function of the
// value. Activation functions are often spelled with several operators: SiLU with 2, GELU with
// 5. No more than 16 are followed.
#include "graph/operators/activation_function.h"

#include "graph/operators/affine_ops.h"

#include <algorithm>
#include <optional>

namespace tare {
namespace {

constexpr std::size_t kMostOperators = 16;

bool is_curved(const Graph& graph, const Node& node) {
  const AffineOp* row = find_affine_op(graph, node);
  return is_activation(node) || (row != nullptr && row->rule == AffineRule::kTabulates);
}

bool is_arithmetic(const Node& node) {
  return node.op == "Add" || node.op == "Sub" || node.op == "Mul" || node.op == "Div";
}

/// The operators between a value and a result that is a function of it.
class FunctionSearch {
 public:
  FunctionSearch(const Graph& graph, ValueId value)
      : graph_(graph), value_(value), known_{value} {
    // What is read more often than that is read by something else as well.
    while (operators_.size() < kMostOperators && open_readers() <= kMostOperators && extend()) {
      if (const auto result = only_result()) {
        result_ = *result;
        function_ = operators_.size();
      }
    }
    operators_.resize(function_);
  }

  ElementwiseFunction found() const {
    const bool is_curve = std::any_of(operators_.begin(), operators_.end(), [&](NodeId id) {
      return is_curved(graph_, graph_.node(id));
    });
    return is_curve ? ElementwiseFunction{operators_, result_} : ElementwiseFunction{};
  }

 private:
  bool is_known(ValueId value) const {
    return std::find(known_.begin(), known_.end(), value) != known_.end();
  }
  bool is_taken(NodeId id) const {
    return std::find(operators_.begin(), operators_.end(), id) != operators_.end();
  }

  std::size_t open_readers() const {
    std::size_t count = 0;
    for (const ValueId value : known_) {
      count += graph_.users(value).size();
    }
    return count - std::min(count, operators_.size());
  }

  /// Takes one more operator, if there is any.
  bool extend() {
    for (const ValueId value : known_) {
      for (const NodeId id : graph_.users(value)) {
        if (!is_taken(id) && is_elementwise(graph_.node(id))) {
          operators_.push_back(id);
          known_.push_back(graph_.node(id).outputs[0]);
          return true;
        }
      }
    }
    return false;
  }

  /// Of what is known and single numbers.
  bool is_elementwise(const Node& node) const {
    if (node.outputs.size() != 1 || !(is_arithmetic(node) || is_curved(graph_, node)) ||
        graph_.type(node.outputs[0]).shape != graph_.type(value_).shape) {
      return false;
    }
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return !input || is_known(input) || is_number(input);
    });
  }

  bool is_number(ValueId value) const {
    const Tensor* constant = graph_.constant(value);
    return constant != nullptr && constant->size() == 1 && constant->dtype() == DType::kFloat32;
  }

  /// The only value that something else reads, unless that is the first one.
  std::optional<ValueId> only_result() const {
    std::optional<ValueId> result;
    for (const ValueId value : known_) {
      const auto& users = graph_.users(value);
      const auto outputs = graph_.outputs();
      const bool is_read =
          std::find(outputs.begin(), outputs.end(), value) != outputs.end() ||
          std::any_of(users.begin(), users.end(), [&](NodeId id) { return !is_taken(id); });
      if (is_read && (result || value == value_)) {
        return std::nullopt;
      }
      if (is_read) {
        result = value;
      }
    }
    return result;
  }

  const Graph& graph_;
  ValueId value_;
  std::vector<ValueId> known_;  ///< the value and results of operators, as they were found
  std::vector<NodeId> operators_;
  std::size_t function_ = 0;  ///< so many of them are one
  ValueId result_;
};

}  // namespace

ElementwiseFunction activation_function(const Graph& graph, ValueId value) {
  return FunctionSearch(graph, value).found();
}

}  // namespace tare
