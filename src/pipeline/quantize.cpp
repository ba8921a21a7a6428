#include "tare/error.h"

#include "graph/arithmetic/storage_type.h"
#include "lower/forms/forms.h"
#include "lower/lower.h"
#include "pipeline/stages.h"
#include "pipeline/store/quantize_checkpoint.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace tare {

namespace {

bool has_operator(const Graph& graph, std::string_view op) {
  const std::vector<NodeId> nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](NodeId id) { return graph.node(id).op == op; });
}

/// Text of that stage can be run, and nothing else.
void refuse_simulated(const Graph& graph) {
  if (has_operator(graph, "SimulatedQuantize")) {
    throw Error(ErrorCode::kInvalidModel, "model", "is a simulated graph")
        .expected("a float model, or a quantized one")
        .hint("'tare run' runs simulated graphs, nothing else takes them");
  }
}

}  // namespace

/// A toolkit that somebody put together may have none; then those of Tare hold.
void set_affine_rows(Graph& graph, const Toolkit& toolkit) {
  graph.affine_rows = toolkit.affine_ops.empty()
                          ? nullptr
                          : std::make_shared<const std::vector<AffineOp>>(toolkit.affine_ops);
}

Graph prepare(Graph graph, const Toolkit& toolkit, std::vector<RewriteEvent>* log) {
  refuse_simulated(graph);
  set_affine_rows(graph, toolkit);
  return rewrite(std::move(graph), toolkit.rules, log);
}

namespace {

/// What is wrong with samples comes before what follows from it.
void warn_first(std::vector<Warning> warnings, QuantizeResult& result) {
  std::vector<Warning>& all = result.audit.warnings;
  all.insert(all.begin(), std::make_move_iterator(warnings.begin()),
             std::make_move_iterator(warnings.end()));
}

/// What is not in the checkpoint yet.
void decide(Stages& stages, const Dataset& data, const CalibrateOptions& options,
            QuantizeCheckpoint& checkpoint) {
  stages.keep_small_divisors(data, options);
  if (auto plan = checkpoint.plan()) {
    stages.use(std::move(plan->factors));
    stages.keep_float(std::move(plan->float_nodes));
    stages.widen(std::move(plan->wide_values));
    stages.simulate();
  } else {
    stages.equalize(data, options);
    stages.simulate();
    // What stays in float changes what the others compute with, so it is known before they are
    // decided.
    if (const double slowdown = stages.slowdown(); slowdown > 0) {
      stages.keep_float(stages.best_plan(data, options).float_nodes);
      stages.widen(stages.wide_values_within(data, options, slowdown));
      stages.simulate();
    }
    checkpoint.add(PreparedPlan{stages.factors(), stages.float_nodes(), stages.wide_values()});
  }
  stages.observe_caches(data, options);
  stages.calibrate(data, options, options.checkpoint.empty() ? nullptr : &checkpoint);
}

QuantizeResult quantized(const Graph& model, const Dataset& data, const Config& config,
                         const Toolkit& toolkit, CalibrateOptions options) {
  Stages stages(model, config, toolkit);
  if (!stages.is_sequential()) {
    options.checkpoint.clear();  // a single pass
  }
  // Reads the samples, to know them again.
  const auto checkpoint = during("calibrating", [&] {
    return std::make_unique<QuantizeCheckpoint>(model, data, config, options);
  });
  try {
    decide(stages, data, options, *checkpoint);
  } catch (const Error& error) {
    // The same samples and settings would end here again.
    if (error.code() != ErrorCode::kIo && error.code() != ErrorCode::kInternal) {
      checkpoint->discard();
    }
    throw;
  }
  return stages.finish();
}

}  // namespace

QuantizeResult quantize(const Graph& model, const Dataset& data, const Config& config,
                        const Toolkit& toolkit, const CalibrateOptions& options) {
  QuantizeResult result = quantized(model, data, config, toolkit, options);
  warn_first(audit_unread_inputs(model, data), result);
  warn_first(audit_sample_count(result.audit.samples), result);
  if (!is_quantized(model)) {
    warn_first(audit_inputs(model, data, options.threads), result);
  }
  return result;
}

QuantizeResult quantize(const Graph& model, const Statistics& statistics, const Config& config,
                        const Toolkit& toolkit) {
  Stages stages(model, config, toolkit);
  stages.simulate();
  stages.keep_small_divisors(statistics);
  stages.simulate();
  stages.decide("calibrating", [&](const SimulatedGraph& simulated, CalibrationAudit& audit) {
    return choose(simulated, statistics, toolkit.calibrators, &audit);
  });
  QuantizeResult result = stages.finish();
  warn_first(audit_sample_count(statistics.samples), result);
  return result;
}

QuantizeResult quantize(const Graph& model, const TableFile& file, const Config& config,
                        const Toolkit& toolkit) {
  Stages stages(model, config, toolkit);
  const Graph& prepared = stages.prepared();
  stages.use(during("reading the table", [&] { return file.factors(prepared); }));
  stages.keep_float(during("reading the table", [&] { return file.float_nodes(prepared); }));
  stages.simulate();
  stages.decide("reading the table",
                [&](const SimulatedGraph& simulated, CalibrationAudit& audit) {
                  return file.table(simulated, &audit);
                });
  return stages.finish();
}

QuantizeResult quantize(const Graph& model, const Config& config, const Toolkit& toolkit) {
  Stages stages(model, config, toolkit);
  stages.simulate();
  stages.decide("choosing weights", [&](const SimulatedGraph& simulated, CalibrationAudit&) {
    Faults faults;
    for (const QuantPoint& point : simulated.points) {
      if (point.role == Role::kActivation) {
        faults.add("value '" + point.name + "'", "gets its range from samples",
                   "samples, or 'activations: {dynamic: true}' for what computes and reads it");
      }
    }
    faults.raise(ErrorCode::kInvalidConfig);
    Statistics nothing;
    nothing.model = model_digest(simulated.source);
    return choose(simulated, nothing, toolkit.calibrators);
  });
  return stages.finish();
}

namespace {

/// Whether real values may become storage values by core operators.
bool casts_to_storage(const Graph& graph) {
  const std::vector<NodeId> nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    const Node& node = graph.node(id);
    const DType dtype = graph.type(node.outputs[0]).dtype;
    return node.op == "Cast" && dtype != DType::kInt32 && is_storage_type(dtype);
  });
}

}  // namespace

bool is_lowered(const Graph& graph) {
  return has_operator(graph, "Quantize") || has_operator(graph, "Dequantize") ||
         has_operator(graph, "Requantize");
}

bool is_quantized(const Graph& model) {
  return is_lowered(model) || has_operator(model, "DequantizeLinear") ||
         has_operator(model, "DynamicQuantizeLinear") ||
         has_operator(model, "DynamicQuantizeLSTM") ||
         // Only with such a cast is there anything to rewrite, and few graphs have one.
         (casts_to_storage(model) &&
          has_operator(from_integer_operators(model), "QuantizeLinear"));
}

Graph lower_quantized(Graph model, const Config& config, const Toolkit& toolkit) {
  return lower_quantized(std::move(model), config, toolkit, {});
}

Graph lower_quantized(Graph model, const Config& config, const Toolkit& toolkit,
                      const std::map<std::string, SumArithmetic, std::less<>>& stated) {
  if (is_lowered(model)) {
    set_affine_rows(model, toolkit);
    return model;
  }
  // Preparing would compute with constants that say how weights are stored.
  Graph prepared = during("preparing the graph", [&] {
    return prepare(from_integer_operators(std::move(model)), toolkit);
  });
  return during("lowering", [&] {
    Graph quantized = from_qdq(std::move(prepared));
    const Target target = target_of(config, toolkit);
    if (config.objective.value_or(target.objective) == Objective::kCoverage) {
      quantized = with_rounded_averages(std::move(quantized));
    }
    NetworkArithmetic arithmetic = network_arithmetic(quantized, config, target);
    arithmetic.layers.insert(stated.begin(), stated.end());
    Graph integer = lower(std::move(quantized), arithmetic);
    check_fallback(config, integer, {});
    return integer;
  });
}

std::vector<Verdict> verdicts_of_file(Graph model, const Target& target,
                                      const Toolkit& toolkit) {
  if (is_lowered(model)) {
    model = to_qdq(model);
  }
  // Files spell some operators with several; preparing puts them together again.
  return verdicts(prepare(from_integer_operators(std::move(model)), toolkit), target);
}

Graph ready_to_run(Graph model, const Config& config, const Toolkit& toolkit) {
  if (has_operator(model, "SimulatedQuantize")) {
    return model;
  }
  model = in_float32(std::move(model));
  return is_quantized(model) ? lower_quantized(std::move(model), config, toolkit)
                             : prepare(std::move(model), toolkit);
}

SimulatedGraph simulate_all(const Graph& model, Config config, const Toolkit& toolkit) {
  require_numbers(model);
  const Graph prepared = prepare(model, toolkit);
  require_numbers(prepared);
  during("applying 'layers'", [&] { check_rules(model, prepared, config); });
  for (LayerRule& rule : config.layers) {
    rule.keep_float = false;
    rule.weights.block.reset();
  }
  config.weights.block = 0;  // operands in float have no statistics
  config.objective = Objective::kCoverage;
  return simulate(prepared, config, target_of(config, toolkit), toolkit.patterns);
}

}  // namespace tare
