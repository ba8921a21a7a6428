#pragma once

#include "tare/config.h"
#include "tare/graph.h"
#include "tare/quant_table.h"
#include "tare/simulate.h"

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tare {

/// Where a graph of QuantizeLinear and DequantizeLinear is not what a target wants.
struct LintFinding {
  std::string node;
  std::string rule;  ///< what the target wants
  std::string what;  ///< what the graph says instead
};

/// Holds a quantized graph, ours or another tool's, against the rules of a target: storage
/// types and zero points, granularity and axis of weights, types and scales of biases, constant
/// and positive scales, places of conversions, parameters around operators that only move
/// elements, one set of parameters per operator that the target unifies, fixed ranges. In
/// topological order; empty when nothing is wrong.
std::vector<LintFinding> lint(const Graph& qdq, const Target&);

/// A check of one's own, for what a device wants that no target file can say.
struct LintRule {
  std::string_view name;
  std::string_view summary;
  /// Looks at the canonical integer graph of a quantized model. `rule` of what it finds may be
  /// left empty, then it is the name of the check.
  std::function<std::vector<LintFinding>(const Graph& integer, const Target&)> check;
  /// The targets that it is about, by name, or by that of what they extend; empty: every
  /// target.
  std::vector<std::string> targets{};
  std::string plugin{};  ///< the file that it comes from; empty: none
};

/// What the checks find that are about the target, one check after the other.
std::vector<LintFinding> lint(const Graph& integer, const Target&, std::span<const LintRule>);

/// How a target runs an operator.
struct Verdict {
  std::string node;  ///< as layer_name() has it
  std::string op;
  std::string runs_as;   ///< the target's integer kernel; empty: it runs on floats
  std::string because;   ///< why it runs on floats, in the words that all with that reason have
  std::string detail{};  ///< numbers or names to that reason; may be empty
  /// Its neighbour's kernel, or the rounding behind it, does its work: a Relu that saturation
  /// replaces, a residual that a convolution adds. It is not counted, as files may have it or
  /// not.
  bool is_part = false;

  bool in_float() const { return !because.empty(); }
};

/// One for each operator with real or storage values as operands or results, conversions of
/// values and of types aside; in topological order.
std::vector<Verdict> verdicts(const Graph& qdq, const Target&);
/// The same for the operators of a float graph that is going to be quantized, whatever the
/// data.
std::vector<Verdict> verdicts(const SimulatedGraph&);
/// The same for one that was quantized by that table, which gave the graph `qdq`.
std::vector<Verdict> verdicts(const SimulatedGraph&, const QuantTable&, const Graph& qdq);

/// Operators that count: everybody who says how many run on integers says this.
struct OperatorCount {
  std::size_t on_integers = 0;
  std::size_t all = 0;
};
OperatorCount count_operators(std::span<const Verdict>);

/// Operators that are in float for the same reason.
struct FloatGroup {
  std::string reason;
  std::vector<const Verdict*> operators;  ///< in topological order
};
/// The largest group first. The verdicts have to outlive it.
std::vector<FloatGroup> float_groups(std::span<const Verdict>);

/// What the node of a float graph is called of which this one of an integer graph is made.
std::string layer_name(std::string_view node);

}  // namespace tare

/// Entry point of a file with one check. A shared object of such a file, compiled with
/// TARE_PLUGIN defined, is a plug-in, see TARE_PART.
#define TARE_LINT(stem) TARE_PART(LintRule, tare_lint_##stem)
