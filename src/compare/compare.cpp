// Compares a float network with a quantized one, whoever made it: which values stand for each
// other (match.cpp), which layers lie between them (layers.cpp), both networks and every layer
// alone as one graph (side_by_side.cpp), and one pass over the samples for all figures at once
// (measure.cpp).

#include "tare/integer_graph.h"

#include "base/parallel.h"
#include "calibrate/audit/input_audit.h"
#include "compare/layer_facts.h"
#include "compare/layers.h"
#include "compare/match.h"
#include "compare/measure.h"
#include "compare/point_facts.h"
#include "compare/side_by_side.h"

#include <map>
#include <set>

namespace tare {
namespace {

/// Operators of the float network that run on integers. Where there are no verdicts, those
/// whose counterpart gives storage values.
std::set<NodeId> on_integers(const Graph& prepared, const Graph& integer,
                             const Comparison& comparison, const CompareFacts& known) {
  std::set<NodeId> result;
  for (const auto& [quantized, real] : comparison.same.nodes) {
    if (integer.type(integer.node(quantized).outputs[0]).quant) {
      result.insert(real);
    }
  }
  for (const Verdict& verdict : known.verdicts) {
    for (const std::string& name : original_names(verdict.node)) {
      const auto id = prepared.find_node(name);
      if (id && !verdict.is_part) {
        verdict.in_float() ? (void)result.erase(*id) : (void)result.insert(*id);
      }
      if (id) {
        break;
      }
    }
  }
  return result;
}

/// The float network, with what became of each node.
std::vector<ReportNode> draw(const Graph& prepared, const Comparison& comparison,
                             const std::set<NodeId>& on_integers) {
  std::vector<ReportNode> nodes;
  std::map<NodeId, std::size_t> indices;
  for (const NodeId id : prepared.topological_order()) {
    const Node& node = prepared.node(id);
    ReportNode drawn{.name = node.name,
                     .op = node.op,
                     .integer = on_integers.contains(id),
                     .layer = {},
                     .inputs = {}};
    if (const auto layer = comparison.layer_of.find(id); layer != comparison.layer_of.end()) {
      drawn.layer = layer->second;
      // A Relu that saturation replaced runs as what it is part of.
      const ComparedLayer& whole = comparison.layers[layer->second];
      drawn.integer = drawn.integer || on_integers.contains(whole.main);
    }
    for (const ValueId operand : node.inputs) {
      const auto producer = operand ? prepared.producer(operand) : std::nullopt;
      if (producer) {
        drawn.inputs.push_back(indices.at(*producer));
      }
    }
    indices.emplace(id, nodes.size());
    nodes.push_back(std::move(drawn));
  }
  return nodes;
}

/// The layer that computes a float value; empty for an input of the network.
std::string layer_of(ValueId value, const Graph& prepared, const Comparison& comparison) {
  const auto producer = prepared.producer(value);
  const auto layer = producer ? comparison.layer_of.find(*producer) : comparison.layer_of.end();
  return layer == comparison.layer_of.end()
             ? std::string()
             : prepared.node(comparison.layers[layer->second].main).name;
}

/// The operator whose rules are about a value, see PointReport::node.
std::string deciding_node(ValueId value, const Graph& prepared) {
  if (const auto producer = prepared.producer(value)) {
    return prepared.node(*producer).name;
  }
  const std::vector<NodeId>& users = prepared.users(value);
  return users.empty() ? std::string() : prepared.node(users[0]).name;
}

/// Points that a table decided keep the name of the value there.
std::string calibrator_of(const std::string& value, const QuantTable* table) {
  if (table == nullptr) {
    return {};
  }
  const auto found = table->find(value);
  return found == table->end() ? std::string() : found->second.calibrator;
}

/// All that does not depend on samples.
Report describe(const Graph& prepared, const Graph& integer, const Comparison& comparison,
                const CompareFacts& known, bool brief) {
  Report report;
  report.real.operators = prepared.nodes().size();
  const OperatorCount count = count_operators(known.verdicts);
  report.quantized.operators = count.all;
  report.quantized.integer_operators = count.on_integers;
  for (const Warning& warning : known.warnings) {
    if (is_about_inputs(warning)) {
      report.input_warnings.push_back({warning.where, warning.what});
    }
  }
  for (const ValueId output : prepared.outputs()) {
    report.outputs.emplace_back().name = prepared.name(output);
  }
  for (const MetricInfo& metric : known.metrics) {
    report.metrics.push_back({std::string(metric.name), std::nullopt});
  }
  report.layers = layer_facts(prepared, integer, comparison, known, brief);
  for (const ComparedPoint& point : comparison.points) {
    PointReport& entry = report.points.emplace_back();
    entry.name = point.name;
    entry.value = prepared.name(point.real);
    entry.layer = layer_of(point.real, prepared, comparison);
    entry.node = deciding_node(point.real, prepared);
    entry.calibrator = calibrator_of(entry.value, known.table);
    entry.params = *integer.type(point.storage).quant;
  }
  report.nodes = draw(prepared, comparison, on_integers(prepared, integer, comparison, known));
  report.float_operators = float_operators(prepared, known);
  return report;
}

}  // namespace

Report compare(const Graph& prepared, const Graph& integer, const Dataset& data,
               const CompareFacts& known, const CompareOptions& options) {
  const Graph& quantized_from =
      known.equalized.graph == nullptr ? prepared : *known.equalized.graph;
  Comparison comparison = find_layers(quantized_from, integer);
  if (options.brief) {
    comparison.points.clear();
  }
  const SideBySide graphs =
      put_side_by_side(prepared, known.equalized.divisors, integer, comparison);
  Report report = describe(quantized_from, integer, comparison, known, options.brief);
  if (options.begin) {
    options.begin(report);
  }
  const Measured measured = measure(graphs, data, known.metrics, options);
  report.samples = measured.samples;
  report.evaluated_on = options.evaluated_on;
  report.accuracy = measured.accuracy;
  report.metrics = measured.metrics;
  report.worst_samples = measured.worst_samples;
  for (std::size_t i = 0; i < report.outputs.size(); ++i) {
    report.outputs[i].error = measured.outputs[i].error.deviation();
    report.outputs[i].agreement = measured.outputs[i].agreement;
  }
  for (std::size_t i = 0; i < report.layers.size(); ++i) {
    report.layers[i].local = measured.layers[i].local.deviation();
    report.layers[i].cumulative = measured.layers[i].cumulative.deviation();
  }
  parallel_for(report.points.size(), thread_count(options.threads),
               [&](std::size_t, std::size_t i) {
                 add_point_facts(measured.points[i], known.calibrators, prepared,
                                 comparison.points[i].real, report.points[i]);
               });
  return report;
}

}  // namespace tare
