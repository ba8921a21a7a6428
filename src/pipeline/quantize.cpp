#include "tare/error.h"
#include "tare/pipeline.h"
#include "tare/search.h"

#include <algorithm>
#include <set>
#include <string>

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

/// How many samples each of so many points is tried on: all trials together are not to take
/// longer than a pass over the samples, if that leaves some.
std::size_t tried_samples(std::size_t used, std::size_t points) {
  constexpr std::size_t kLeast = 2;
  constexpr std::size_t kEnough = 16;
  return std::clamp(used / std::max<std::size_t>(points, 1), kLeast, kEnough);
}

/// Stages on their way to a result.
class Pipeline {
 public:
  Pipeline(const Graph& model, const Config& config, const Toolkit& toolkit)
      : config_(config), toolkit_(toolkit), target_(read_target(config.target)) {
    result_.prepared = during("preparing the graph", [&] { return prepare(model, toolkit); });
  }

  const Graph& prepared() const { return result_.prepared; }

  void use(ChannelFactors factors) { result_.factors = std::move(factors); }
  void keep_float(std::set<std::string> nodes) { result_.float_nodes = std::move(nodes); }

  void equalize(const Dataset& data, const CalibrateOptions& options) {
    use(during("calibrating", [&] {
      return equalizing_factors(result_.prepared, data, config_, target_, toolkit_.patterns,
                                toolkit_.calibrators, options);
    }));
  }

  void simulate() {
    result_.simulated = during("simulating", [&] {
      return tare::simulate(tare::equalize(result_.prepared, result_.factors), config_, target_,
                            toolkit_.patterns, result_.float_nodes);
    });
  }

  /// `decide` makes a table of the simulated graph and fills the audit.
  template <class Decide>
  void decide(const char* activity, Decide decide) {
    result_.audit = {};
    result_.table = during(activity, [&] { return decide(result_.simulated, result_.audit); });
  }

  /// Leaves in float what loses more than its speed is worth; what was decided stays for the
  /// other points. Whether there is any.
  bool trade_speed(const Dataset& data, const CalibrateOptions& options) {
    const double slowdown = slowdown_of(config_);
    keep_float(during("calibrating", [&] {
      const SimulatedGraph& simulated = result_.simulated;
      const auto points = affordable_points(simulated, config_, toolkit_.patterns, slowdown);
      const std::size_t used = options.samples == 0 ? data.size() : options.samples;
      const auto errors = point_errors(simulated, result_.table, points, data,
                                       {.threads = options.threads, .samples = options.samples},
                                       tried_samples(used, points.size()));
      return nodes_for_accuracy(simulated, config_, toolkit_.patterns, errors, slowdown);
    }));
    if (result_.float_nodes.empty()) {
      return false;
    }
    simulate();
    QuantTable left;
    for (const QuantPoint& point : result_.simulated.points) {
      left.emplace(point.name, std::move(result_.table.at(point.name)));
    }
    result_.table = std::move(left);
    return true;
  }

  QuantizeResult finish() {
    result_.integer =
        during("lowering", [&] { return lower(result_.simulated, result_.table); });
    check_fallback(config_, result_.integer, result_.simulated.kept_float);
    audit_accumulators(config_, result_.integer, result_.audit.warnings);
    return std::move(result_);
  }

 private:
  const Config& config_;
  const Toolkit& toolkit_;
  Target target_;
  QuantizeResult result_;
};

/// With the best effort all calibrators are tried where none was asked for.
Config with_effort(Config config, const Toolkit& toolkit) {
  const auto names = toolkit.calibrator_names();
  if (config.effort == Effort::kBest &&
      config.activations.calibrator == Config().activations.calibrator &&
      std::find(names.begin(), names.end(), "auto") != names.end()) {
    config.activations.calibrator = {.name = "auto", .options = {}};
  }
  return config;
}

}  // namespace

QuantizeResult quantize(const Graph& model, const Dataset& data, const Config& wanted,
                        const Toolkit& toolkit, const CalibrateOptions& options) {
  const Config config = with_effort(wanted, toolkit);
  const bool sequential = schedule_of(config) == Schedule::kSequential;
  const auto calibrate = [&](const SimulatedGraph& simulated, CalibrationAudit& audit) {
    const auto schedule = sequential ? calibrate_sequentially : tare::calibrate;
    return schedule(simulated, data, toolkit.calibrators, options, &audit);
  };
  Pipeline pipeline(model, config, toolkit);
  if (sequential) {
    pipeline.equalize(data, options);
  }
  pipeline.simulate();
  pipeline.decide("calibrating", calibrate);
  if (slowdown_of(config) > 0 && pipeline.trade_speed(data, options) &&
      config.effort == Effort::kBest) {
    pipeline.decide("calibrating", calibrate);
  }
  return pipeline.finish();
}

QuantizeResult quantize(const Graph& model, const Statistics& statistics, const Config& config,
                        const Toolkit& toolkit) {
  Pipeline pipeline(model, config, toolkit);
  pipeline.simulate();
  pipeline.decide("calibrating", [&](const SimulatedGraph& simulated, CalibrationAudit& audit) {
    return choose(simulated, statistics, toolkit.calibrators, &audit);
  });
  return pipeline.finish();
}

QuantizeResult quantize(const Graph& model, const TableFile& file, const Config& config,
                        const Toolkit& toolkit) {
  Pipeline pipeline(model, config, toolkit);
  const Graph& prepared = pipeline.prepared();
  pipeline.use(during("reading the table", [&] { return file.factors(prepared); }));
  pipeline.keep_float(during("reading the table", [&] { return file.float_nodes(prepared); }));
  pipeline.simulate();
  pipeline.decide("reading the table",
                  [&](const SimulatedGraph& simulated, CalibrationAudit& audit) {
                    return file.table(simulated, &audit);
                  });
  return pipeline.finish();
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

Graph ready_to_run(Graph model, const Config& config, const Toolkit& toolkit) {
  return is_quantized(model) ? lower_quantized(std::move(model), config, toolkit)
                             : prepare(std::move(model), toolkit);
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
