#pragma once

#include "tare/config.h"
#include "tare/graph.h"
#include "tare/simulate.h"

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

/// How a target runs a node of such a graph.
struct Verdict {
  std::string node;
  std::string op;
  std::string runs_as;  ///< the target's integer kernel; empty: it runs on floats
  std::string because;  ///< why it runs on floats; empty when it does not
};

/// One for each node that computes on real values, or on storage values without conversions
/// around it, conversions aside; in topological order.
std::vector<Verdict> verdicts(const Graph& qdq, const Target&);
/// The same for the nodes of a float graph that is going to be quantized, whatever the data.
std::vector<Verdict> verdicts(const SimulatedGraph&);

/// What the node of a float graph is called of which this one of an integer graph is made.
std::string layer_name(std::string_view node);

}  // namespace tare
