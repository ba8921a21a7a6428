#pragma once

#include "tare/graph.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tare {

/// One node and the gradients of its results, as a rule sees them, and the graph that the rule
/// adds operators to.
class GradientContext {
 public:
  GradientContext(Graph& graph, NodeId node, std::vector<ValueId> result_gradients,
                  std::vector<bool> wanted)
      : graph_(graph),
        node_(graph.node(node)),
        result_gradients_(std::move(result_gradients)),
        wanted_(std::move(wanted)),
        gradients_(node_.inputs.size()) {}

  const Node& node() const { return node_; }
  const Attributes& attributes() const { return node_.attributes; }
  bool has_input(std::size_t i) const { return i < node_.inputs.size() && node_.inputs[i]; }
  /// Throws Error(kUnsupported) where the node has no such operand.
  ValueId input(std::size_t i) const;
  ValueId output(std::size_t i = 0) const { return node_.outputs.at(i); }
  /// A copy: what a rule adds to the graph moves what is in it.
  Shape shape(ValueId value) const { return graph_.type(value).shape; }
  DType dtype(ValueId value) const { return graph_.type(value).dtype; }
  /// Constant operand `i` as integers. Throws Error(kUnsupported) where it is computed.
  std::vector<std::int64_t> integers(std::size_t i) const;
  const Tensor* constant(std::size_t i) const { return graph_.constant(input(i)); }

  /// The gradient of a result; zeros where nothing depends on that one.
  ValueId gradient(std::size_t i = 0);
  bool has_gradient(std::size_t i) const { return bool(result_gradients_.at(i)); }
  /// Whether the gradient of that operand is asked for.
  bool wants(std::size_t i) const { return i < wanted_.size() && wanted_[i]; }
  /// States the gradient of an operand, whose shape it has. No rule states one twice.
  void give(std::size_t i, ValueId gradient) { gradients_.at(i) = gradient; }
  const std::vector<ValueId>& given() const { return gradients_; }

  // ---- what rules are written with --------------------------------------------------------
  /// An operator of one float result.
  ValueId add(std::string op, std::vector<ValueId> inputs, Shape, Attributes = {});
  ValueId add(std::string op, std::vector<ValueId> inputs, TensorType, Attributes = {});
  /// An elementwise operator, whose operands broadcast.
  ValueId map(std::string op, std::vector<ValueId> inputs, Attributes = {});
  /// The same with a bool result.
  ValueId test(std::string op, std::vector<ValueId> inputs);
  ValueId number(float);
  ValueId list(const std::vector<std::int64_t>&);
  ValueId constant(Tensor);
  ValueId zeros(const Shape&);
  ValueId reshape(ValueId, const Shape&);
  ValueId transpose(ValueId, const std::vector<std::int64_t>& order);
  /// Sums over these axes, which stay with extent 1.
  ValueId sum(ValueId, const std::vector<std::int64_t>& axes);
  ValueId mean(ValueId, const std::vector<std::int64_t>& axes);
  /// Sums over whatever broadcasting from `shape` has repeated.
  ValueId sum_to(ValueId, const Shape& shape);
  /// Repeats what broadcasts to `shape`.
  ValueId expand(ValueId, const Shape& shape);
  /// Where `condition` holds `value`, and 0 elsewhere.
  ValueId where(ValueId condition, ValueId value);

 private:
  Graph& graph_;
  const Node node_;
  std::vector<ValueId> result_gradients_;
  std::vector<bool> wanted_;
  std::vector<ValueId> gradients_;
};

inline ValueId times(GradientContext& c, ValueId a, ValueId b) {
  return c.map("Mul", {a, b});
}
inline ValueId plus(GradientContext& c, ValueId a, ValueId b) {
  return c.map("Add", {a, b});
}

/// How gradients of operands follow from those of results, for operators of those names. It
/// throws Error(kUnsupported) for a node that it cannot differentiate.
struct GradientRule {
  std::vector<std::string> ops;
  std::function<void(GradientContext&)> apply;
};
using GradientRules = std::vector<GradientRule>;

/// Null where nothing is known of that operator.
const GradientRule* find_gradient_rule(std::string_view op);
/// Operators that have one, sorted.
std::vector<std::string> differentiable_ops();

/// Shape that operands of these shapes broadcast to.
Shape broadcast(const Shape&, const Shape&);

}  // namespace tare

/// Entry point of a file in src/reconstruct/gradients; the file name is `stem`.
#define TARE_GRADIENT(stem) ::tare::GradientRules tare_gradient_##stem()
