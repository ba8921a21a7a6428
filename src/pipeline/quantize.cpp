#include "tare/error.h"
#include "tare/pipeline.h"

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

}  // namespace

QuantizeResult quantize(const Graph& model, const Dataset& data, const Config& config,
                        const Toolkit& toolkit, const CalibrateOptions& options) {
  QuantizeResult result;
  const Target target = read_target(config.target);
  result.prepared = during("preparing the graph", [&] { return prepare(model, toolkit); });
  result.simulated = during("simulating", [&] {
    return simulate(result.prepared, config, target, toolkit.patterns);
  });
  result.table = during("calibrating", [&] {
    return calibrate(result.simulated, data, toolkit.calibrators, options);
  });
  result.integer = during("lowering", [&] { return lower(result.simulated, result.table); });
  result.qdq = during("exporting", [&] { return to_qdq(result.integer); });
  return result;
}

}  // namespace tare
