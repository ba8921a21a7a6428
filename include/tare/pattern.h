#pragma once

#include "tare/graph.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tare {

/// What a pattern matched. Captures are written only when the whole pattern matched.
class Match {
 public:
  /// The node that the pattern's outermost op() matched.
  NodeId root() const { return root_; }
  /// Throw Error(kInternal) when nothing was captured under that name.
  NodeId node(std::string_view capture) const;
  ValueId value(std::string_view capture) const;
  bool has(std::string_view capture) const;
  /// Every node that an op() of the pattern matched, root first, no duplicates.
  const std::vector<NodeId>& nodes() const { return nodes_; }

 private:
  friend class Pattern;
  NodeId root_;
  std::vector<NodeId> nodes_;
  std::vector<std::pair<std::string, ValueId>> values_;
  std::vector<std::pair<std::string, NodeId>> captured_nodes_;
};

/// Describes a value by the node that computes it, and that node's operands the same way:
///
///     op("Add").with_any_order(op("Conv").single_use().as("conv"), constant().as("bias"))
///     op("Relu").with(x) | op("Clip").with(x, constant(), constant())
///
/// Patterns are immutable values; each modifier returns a changed copy. The same capture name
/// used twice must match the same value, which is how diamonds are written.
class Pattern {
 public:
  using NodePredicate = std::function<bool(const Graph&, const Node&)>;
  using ValuePredicate = std::function<bool(const Graph&, ValueId)>;

  /// Operand patterns, in order. Operands beyond those listed must be absent, unless
  /// `with_more()` is given. Without any with(), operands are not looked at.
  template <class... Operands>
  Pattern with(Operands... operands) const {
    return with_operands({std::move(operands)...}, false);
  }
  /// Two operands, tried in both orders.
  Pattern with_any_order(Pattern a, Pattern b) const;
  /// Further operands may follow the listed ones.
  Pattern with_more() const;
  /// The value has exactly one reader and is no graph output.
  Pattern single_use() const;
  Pattern where(NodePredicate) const;
  Pattern where_value(ValuePredicate) const;
  /// Attribute present (or absent with the operator's default equal) and equal.
  Pattern attribute(std::string name, Attribute value) const;
  Pattern as(std::string_view capture) const;
  /// Ordered choice: the left side first.
  friend Pattern operator|(Pattern a, Pattern b);

  /// Matches the node's first output. On failure `why` (when not null) gets a sentence saying
  /// which part did not match.
  std::optional<Match> match(const Graph&, NodeId, std::string* why = nullptr) const;
  /// Operator names the outermost node may have; empty when any.
  std::vector<std::string> root_ops() const;

  struct Impl;
  explicit Pattern(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  Pattern with_operands(std::vector<Pattern> operands, bool any_order) const;
  std::shared_ptr<const Impl> impl_;
};

/// A value computed by a node of that operator, or of any of these operators.
Pattern op(std::string name);
Pattern op_of(std::vector<std::string> names);
/// Any present value.
Pattern any();
/// A constant.
Pattern constant();
/// A constant whose elements all equal `value` exactly (as float).
Pattern scalar(double value, double tolerance = 0);
/// The operand may be absent; when present it must match.
Pattern optional(Pattern);

/// A change, described and not yet made: new nodes and constants over the values of `graph`,
/// then replacements. The rewriter applies it and verifies the graph, so a rule cannot leave a
/// graph half rewritten.
class Patch {
 public:
  explicit Patch(const Graph& graph) : graph_(&graph) {}

  /// A value of the patched graph: either an existing one or one added by this patch.
  /// Names are made unique when the patch is applied.
  ValueId add(std::string op, std::vector<ValueId> inputs, TensorType type, std::string name,
              Attributes = {});
  /// A node with several results.
  std::vector<ValueId> add_multi(std::string op, std::vector<ValueId> inputs,
                                 std::vector<Graph::Result> results, Attributes = {});
  ValueId add_constant(std::string name, Tensor);
  ValueId add_constant(std::string name, Tensor, TensorType);
  void replace(ValueId before, ValueId after);
  /// Type of an existing or added value.
  const TensorType& type(ValueId) const;
  bool empty() const { return steps_.empty() && replacements_.empty(); }

  /// Performs the change and erases what became unused. Returns the handles that the added
  /// values got, in the order in which they were added. Most callers use rewrite().
  std::vector<ValueId> apply(Graph&) const;

 private:
  struct Step {
    std::string op;  // empty: a constant
    std::vector<ValueId> inputs;
    std::vector<Graph::Result> results;
    Attributes attributes;
    std::optional<Tensor> constant;
    std::uint32_t first_value = 0;  // handles of the results, until applied
  };
  ValueId next_value(const TensorType&);

  const Graph* graph_;
  std::vector<Step> steps_;
  std::vector<std::pair<ValueId, ValueId>> replacements_;
  std::vector<TensorType> added_types_;
};

/// Why a matched rule does not apply. Not an error: `tare explain` prints it.
struct Refusal {
  std::string reason;
};

/// pattern -> change or reason. One file each in patterns/rules (float graph clean-up).
struct RewriteRule {
  std::string_view name;
  std::string_view summary;
  int benefit = 0;  ///< larger first, then by name
  std::function<Pattern()> pattern;
  std::function<std::variant<Patch, Refusal>(const Graph&, const Match&)> rewrite;
};

/// What rewrite() did at one node.
struct RewriteEvent {
  std::string rule;
  std::string node;    ///< name of the root node before the change
  std::string reason;  ///< empty when the rule fired, else why it refused
};

/// Applies the rules, highest benefit first, in topological order, until none applies any more,
/// and verifies the result. `log` (when not null) gets every firing, and the refusals of the
/// last sweep. Throws Error(kInternal) when 10,000 rounds do not reach a fixed point.
Graph rewrite(Graph, std::span<const RewriteRule>, std::vector<RewriteEvent>* log = nullptr);

}  // namespace tare

/// Entry point of a file in patterns/rules; the file name is `stem`.
#define TARE_RULE(stem) ::tare::RewriteRule tare_rule_##stem()
