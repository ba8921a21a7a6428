#pragma once

#include "tare/node.h"
#include "tare/process.h"
#include "tare/tensor.h"

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
  NodeId root() const { return nodes_.front(); }
  /// The captured value, or the node that computes it. Throw Error(kInternal) when nothing was
  /// captured under that name, or when no node computes it.
  ValueId value(std::string_view capture) const;
  NodeId node(std::string_view capture) const;
  bool has(std::string_view capture) const;
  /// As value(); an absent value when nothing was captured.
  ValueId value_if(std::string_view capture) const;
  /// Every node that an op() of the pattern matched, root first, no duplicates.
  const std::vector<NodeId>& nodes() const { return nodes_; }

 private:
  friend class Pattern;
  struct Capture {
    std::string name;
    ValueId value;
    std::optional<NodeId> node;
  };
  const Capture& capture(std::string_view name) const;

  std::vector<NodeId> nodes_;
  std::vector<Capture> captures_;
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
    return with_operands({std::move(operands)...});
  }
  /// The same for a list of any length; `any_order` only of two.
  Pattern with_operands(std::vector<Pattern> operands, bool any_order = false) const;
  /// Two operands, tried in both orders.
  Pattern with_any_order(Pattern a, Pattern b) const;
  /// Further operands may follow the listed ones.
  Pattern with_more() const;
  /// The node has to be there, and does not belong to what is matched: Match::nodes() leaves it
  /// out. Not of the outermost op().
  Pattern context() const;
  /// The value has exactly one reader and is no graph output.
  Pattern single_use() const;
  /// `condition` completes "Conv 'x' does not meet: ..." where the predicate is false.
  Pattern where(NodePredicate, std::string_view condition = "a predicate") const;
  Pattern where_value(ValuePredicate, std::string_view condition = "a predicate") const;
  /// The node has an attribute that equals `value`. `is_default` says that a node without the
  /// attribute counts as having it.
  Pattern attribute(std::string name, Attribute value, bool is_default = false) const;
  Pattern as(std::string_view capture) const;
  /// Ordered choice: the left side first.
  friend Pattern operator|(Pattern a, Pattern b);

  /// Matches the node's first output, trying all alternatives and orders until one makes the
  /// whole pattern match. On failure `why` (when not null) gets a sentence about the part that
  /// failed after most others had matched.
  std::optional<Match> match(const Graph&, NodeId, std::string* why = nullptr) const;
  /// Operator names the outermost node may have; empty when any.
  std::vector<std::string> root_ops() const;

  struct Impl;
  explicit Pattern(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

/// The first result of a node of that operator, of one of these operators, or of any operator.
Pattern op(std::string name);
Pattern op_of(std::vector<std::string> names);
Pattern any_op();
/// Any present value.
Pattern any();
/// A constant.
Pattern constant();
/// A constant of one element or more, each within `tolerance` of `value`.
Pattern scalar(double value, double tolerance = 0);
/// The operand may be absent; when present it must match. Only as an operand of with().
Pattern optional(const Pattern&);

/// A pattern as text, for configuration files:
///
///     MatMul(Softmax, any)                       operands that are not listed may be anything
///     Softmax(Add?(MatMul(computed, computed)))  an Add, or its first operand in its place
///     Sigmoid(Conv(Relu|Clip(Conv(@ReduceMean))))  one of two; @ is context()
///
/// Operands are patterns, `any`, `constant` or `computed`; those of Add and Mul match in both
/// orders. Throws Error(kInvalidConfig) where a text is none.
Pattern parse_pattern(std::string_view text);

/// A change, described and not yet made: new nodes and constants over the values of `graph`,
/// then replacements. The rewriter applies it and verifies the graph, so a rule cannot leave a
/// graph half rewritten.
class Patch {
 public:
  explicit Patch(const Graph& graph) : graph_(&graph) {}

  /// A node of that name with one result. Operands are values of the graph or of this patch.
  /// Names that the change sets free are used again; others are made unique.
  ValueId add(std::string op, std::vector<ValueId> inputs, TensorType type, std::string name,
              Attributes = {});
  /// A node with several results, named as the first of them.
  std::vector<ValueId> add_multi(std::string op, std::vector<ValueId> inputs,
                                 std::vector<NamedType> results, Attributes = {});
  ValueId add_constant(std::string name, Tensor);
  ValueId add_constant(std::string name, Tensor, TensorType);
  /// Every reader of `before` reads `after`, a value of the same element type and shape. A
  /// value that this patch adds takes over the name of the one whose place it takes.
  void replace(ValueId before, ValueId after);
  /// A node with the name and the result of `before`, which has one result, in its place.
  void replace_node(const Node& before, std::string op, std::vector<ValueId> inputs,
                    Attributes = {});
  /// Type of an existing or added value.
  const TensorType& type(ValueId) const;
  bool empty() const { return steps_.empty() && replacements_.empty(); }
  /// Why the change would alter the names of the graph's outputs; empty when it does not.
  std::string broken_interface() const;

  /// A node that a patch erased, as it was.
  using Erased = std::pair<NodeId, Node>;
  /// Performs the change and erases what became unused by it, which it appends to `erased` when
  /// not null. Returns the handles that the added values got, in the order in which they were
  /// added. Most callers use rewrite().
  std::vector<ValueId> apply(Graph&, std::vector<Erased>* erased = nullptr) const;
  /// After apply(), which returned `added`, the values that stand for what was replaced: those
  /// computed by added nodes or, where the patch adds none, the replacements.
  std::vector<ValueId> stand_ins(const std::vector<ValueId>& added) const;

 private:
  struct Step {
    std::string op;  // empty: a constant
    std::vector<ValueId> inputs;
    std::vector<NamedType> results;
    Attributes attributes;
    std::optional<Tensor> constant;
  };
  ValueId next_value(const TensorType&);
  bool adds_constant(ValueId added) const;

  const Graph* graph_;
  std::vector<Step> steps_;
  std::vector<std::pair<ValueId, ValueId>> replacements_;
  std::vector<TensorType> added_types_;
};

/// Why a matched rule does not apply. Not an error: `tare explain` prints it.
struct Refusal {
  std::string reason;
};

/// pattern -> change or reason. One file each in src/prepare/rules (float graph clean-up).
struct RewriteRule {
  std::string_view name;
  std::string_view summary;
  int benefit = 0;  ///< larger first, then by name
  std::function<Pattern()> pattern;
  std::function<std::variant<Patch, Refusal>(const Graph&, const Match&)> rewrite;
  std::string plugin{};  ///< the file that it comes from; empty: none
};

/// What rewrite() did at one node.
struct RewriteEvent {
  std::string rule;
  std::string node;    ///< name of the root node before the change
  std::string reason;  ///< empty when the rule fired, else why it refused
};

/// Applies the rules, highest benefit first, in topological order, until none applies any more,
/// erases what no output depends on, and verifies the result. A patch that would change names
/// of graph outputs counts as refused. The nodes that a patch adds, or where it adds none those
/// that compute its replacements, take over the matched ones and those that it makes unused,
/// see Node::origins. `log` (when not null) gets every firing, and the refusals that remained
/// at the end. Errors say which rule was at which node. Throws Error(kInternal) when 10,000
/// rounds do not reach a fixed point, Error(kInvalidConfig) where a rule of a plug-in still
/// fires then.
Graph rewrite(Graph, std::span<const RewriteRule>, std::vector<RewriteEvent>* log = nullptr);

/// Builds the affine form of one matched region. Simulation and lowering give patterns
/// different builders, so one function of a pattern serves both: in a simulated graph storage
/// values and accumulators are float32 and parameters are variables, in the integer graph they
/// are integers and constants.
class AffineBuilder {
 public:
  virtual ~AffineBuilder() = default;
  virtual const Graph& graph() const = 0;
  /// The storage form of a value of the graph; the same for every reader of that value.
  virtual ValueId activation(ValueId) = 0;
  /// The storage form of a constant, per `axis` where the configuration says per axis.
  virtual ValueId weight(const Node& reader, ValueId constant, int axis) = 0;
  /// The storage form of the constant that `reader` adds to its accumulator of input * weight.
  /// An absent constant counts as 0.
  virtual ValueId bias(const Node& reader, ValueId constant, ValueId input, ValueId weight) = 0;
  /// `node` applied to storage values: a sum of products, in accumulators whose scale is the
  /// product of the first two operands' scales, with both zero points accounted for. Returns
  /// the expressed value of the result.
  virtual ValueId accumulate(const Node& node, std::vector<ValueId> operands) = 0;
  /// `node` applied to the expressed values of storage operands, and to others as they are.
  virtual ValueId apply(const Node& node, std::vector<ValueId> operands) = 0;
};

using AffineForm = std::function<ValueId(AffineBuilder&, const Match&)>;

/// A float pattern and its two rewrites. Each returns the expressed value that replaces the
/// first output of the matched root. One file each in patterns/.
struct QuantPattern {
  std::string_view name;
  std::string_view summary;
  int benefit = 0;  ///< larger first, then by name
  /// True: it gains nothing on its own, so it is quantized only where that saves conversions
  /// for its neighbours.
  bool follows_neighbours = false;
  std::function<Pattern()> pattern;
  AffineForm simulate;
  AffineForm quantize;
  /// Of a pattern that no built-in target lists: the targets that use it although they do not
  /// list it, by name, or by that of what they extend; empty: every target, which runs it on
  /// integers where its kernels and its objective allow.
  std::vector<std::string> targets{};
  std::string plugin{};  ///< the file that it comes from; empty: none
};

}  // namespace tare

/// Entry point of a file in src/prepare/rules; the file name is `stem`. A shared object of such
/// a file, compiled with TARE_PLUGIN defined, is a plug-in, see TARE_PART.
#define TARE_RULE(stem) TARE_PART(RewriteRule, tare_rule_##stem)

/// Entry point of a file in patterns/; the file name is `stem`. A shared object of such a file,
/// compiled with TARE_PLUGIN defined, is a plug-in, see TARE_PART.
#define TARE_PATTERN(stem) TARE_PART(QuantPattern, tare_pattern_##stem)
