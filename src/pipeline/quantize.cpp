#include "tare/error.h"
#include "tare/pipeline.h"

#include <algorithm>
#include <functional>

namespace tare {

Graph prepare(Graph graph, const Toolkit& toolkit, std::vector<RewriteEvent>* log) {
  return rewrite(std::move(graph), toolkit.rules, log);
}

namespace {

/// Runs a stage; an error on its way out says what was going on.
template <class Stage>
auto during(const char* activity, Stage stage) {
  try {
    return stage();
  } catch (Error& error) {
    error.during(activity);
    throw;
  }
}

/// What the configured accumulator means for files, and where it may still overflow although it
/// was not to.
void audit_accumulators(const Config& config, const Graph& integer,
                        std::vector<Warning>& warnings) {
  if (config.accumulator == Accumulator{}) {
    return;
  }
  warnings.push_back({"accumulator_of_file", "accumulator",
                      "files cannot say that sums have " +
                          std::to_string(config.accumulator.bits) +
                          " bits; what reads them adds up in 32"});
  for (const ProductSums& sums : guaranteed_sums(integer)) {
    if (config.avoid_overflow && !sums.range.fits(config.accumulator)) {
      warnings.push_back({"accumulator_overflow", "node '" + integer.node(sums.node).name + "'",
                          "may need " + std::to_string(sums.range.bits()) +
                              " bits, as both of its factors are computed"});
    }
  }
}

/// Where no operator may stay in float, every one that did is a fault; `kept` says why.
void check_fallback(const Config& config, const Graph& integer,
                    const std::vector<KeptFloat>& kept) {
  if (config.may_fall_back) {
    return;
  }
  Faults faults;
  for (const std::string& name : float_operators(integer)) {
    const auto known = std::find_if(kept.begin(), kept.end(),
                                    [&](const KeptFloat& k) { return k.node == name; });
    const std::string& op = integer.node(*integer.find_node(name)).op;
    faults.add("node '" + name + "' (" + op + ")",
               "stays in float, which 'fallback' forbids: " +
                   (known != kept.end() ? known->reason
                                        : "not all of its operands and results are quantized"));
  }
  faults.raise(ErrorCode::kUnsupported);
}

using Decide = std::function<QuantTable(const SimulatedGraph&, CalibrationAudit&)>;

/// The stages from simulation on, with `decide` making a table of the simulated graph and
/// filling the audit.
QuantizeResult run_stages(Graph prepared, ChannelFactors factors, const Target& target,
                          const Config& config, const Toolkit& toolkit, const char* activity,
                          const Decide& decide) {
  QuantizeResult result;
  result.prepared = std::move(prepared);
  result.factors = std::move(factors);
  result.simulated = during("simulating", [&] {
    return simulate(equalize(result.prepared, result.factors), config, target,
                    toolkit.patterns);
  });
  result.table = during(activity, [&] { return decide(result.simulated, result.audit); });
  result.integer = during("lowering", [&] { return lower(result.simulated, result.table); });
  check_fallback(config, result.integer, result.simulated.kept_float);
  audit_accumulators(config, result.integer, result.audit.warnings);
  return result;
}

Graph prepared(const Graph& model, const Toolkit& toolkit) {
  return during("preparing the graph", [&] { return prepare(model, toolkit); });
}

}  // namespace

QuantizeResult quantize(const Graph& model, const Dataset& data, const Config& config,
                        const Toolkit& toolkit, const CalibrateOptions& options) {
  const Target target = read_target(config.target);
  Graph clean = prepared(model, toolkit);
  const bool sequential = schedule_of(config) == Schedule::kSequential;
  ChannelFactors factors = during("calibrating", [&] {
    return sequential ? equalizing_factors(clean, data, config, target, toolkit.patterns,
                                           toolkit.calibrators, options)
                      : ChannelFactors{};
  });
  return run_stages(std::move(clean), std::move(factors), target, config, toolkit,
                    "calibrating", [&](auto& simulated, auto& audit) {
                      const auto schedule =
                          sequential ? calibrate_sequentially : tare::calibrate;
                      return schedule(simulated, data, toolkit.calibrators, options, &audit);
                    });
}

QuantizeResult quantize(const Graph& model, const Statistics& statistics, const Config& config,
                        const Toolkit& toolkit) {
  return run_stages(prepared(model, toolkit), {}, read_target(config.target), config, toolkit,
                    "calibrating", [&](auto& simulated, auto& audit) {
                      return choose(simulated, statistics, toolkit.calibrators, &audit);
                    });
}

QuantizeResult quantize(const Graph& model, const TableFile& file, const Config& config,
                        const Toolkit& toolkit) {
  Graph clean = prepared(model, toolkit);
  ChannelFactors factors = during("reading the table", [&] { return file.factors(clean); });
  return run_stages(std::move(clean), std::move(factors), read_target(config.target), config,
                    toolkit, "reading the table", [&](auto& simulated, auto& audit) {
                      return file.table(simulated, &audit);
                    });
}

namespace {

bool has_operator(const Graph& graph, std::string_view op) {
  const std::vector<NodeId> nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](NodeId id) { return graph.node(id).op == op; });
}

}  // namespace

bool is_quantized(const Graph& model) {
  return has_operator(model, "DequantizeLinear") ||
         has_operator(from_integer_operators(model), "QuantizeLinear");
}

Graph lower_quantized(Graph model, const Config& config, const Toolkit& toolkit) {
  // Preparing would compute with constants that say how weights are stored.
  Graph prepared = during("preparing the graph", [&] {
    return prepare(from_integer_operators(std::move(model)), toolkit);
  });
  return during("lowering", [&] {
    Graph quantized = from_qdq(std::move(prepared));
    const Objective objective = config.objective.value_or(read_target(config.target).objective);
    if (objective == Objective::kCoverage) {
      quantized = with_rounded_averages(std::move(quantized));
    }
    Graph integer = lower(std::move(quantized), config.requantize.mode(), config.accumulator);
    check_fallback(config, integer, {});
    return integer;
  });
}

SimulatedGraph simulate_all(const Graph& model, Config config, const Toolkit& toolkit) {
  for (LayerRule& rule : config.layers) {
    rule.keep_float = false;
  }
  config.objective = Objective::kCoverage;
  const Target target = read_target(config.target);
  return simulate(prepare(model, toolkit), config, target, toolkit.patterns);
}

}  // namespace tare
