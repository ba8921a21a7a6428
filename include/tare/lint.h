#pragma once

#include "tare/config.h"
#include "tare/graph.h"
#include "tare/quant_table.h"
#include "tare/simulate.h"

#include <cstddef>
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
