#include "stage.h"

#include "tare/integer_graph.h"
#include "tare/simulate.h"

#include "configuration.h"
#include "printing/progress.h"
#include "printing/warnings.h"

#include <utility>

namespace tare::cli {
namespace {

/// After one of the stages behind calibration.
Graph graph_of(QuantizeResult& result, const std::string& stage) {
  if (stage == "simulated") {
    return tare::bind(result.simulated, result.table);
  }
  if (stage == "affine" || stage == "expanded") {
    return lowered(result.simulated, result.table,
                   stage == "affine" ? LoweringStage::kAffine : LoweringStage::kExpanded);
  }
  return std::move(stage == "integer" ? result.integer : result.qdq);
}

/// Of a model that is quantized already.
Graph graph_of_quantized(Graph graph, const std::string& stage, const Options& options,
                         const Config& config, const Toolkit& toolkit) {
  if (stage == "exported") {
    return graph;
  }
  if (stage != "integer") {
    throw Error(ErrorCode::kInvalidConfig, "option '--stage'",
                "the model is quantized already, so it has no stage '" + stage + "'")
        .expected("float, prepared, integer or exported");
  }
  return lower_quantized(std::move(graph), read_file_metadata(options.text("MODEL")), config,
                         toolkit);
}

}  // namespace

Flag stage_flag(std::string fallback) {
  return {.name = "stage",
          .value = "NAME",
          .summary =
              "the model after that stage; simulated is calibrated if there is --data, and "
              "those behind it "
              "need --data or, integer and exported, a quantized model",
          .fallback = std::move(fallback),
          .choices = {"float", "prepared", "simulated", "affine", "expanded", "integer",
                      "exported"}};
}

Graph graph_at_stage(const Options& options, const Dataset* data, const Console& console) {
  const auto [config, toolkit] = read_configuration(options);
  const std::string stage = options.text("stage");
  const std::string model = options.text("MODEL");
  Graph graph = load_model(model, config.dims, data);
  say_warnings(invalid_constants(graph), console);
  if (stage == "float") {
    return graph;
  }
  if (stage == "prepared" || (stage == "simulated" && data == nullptr)) {
    Graph prepared = prepare(graph, toolkit);
    check_rules(graph, prepared, config);
    return stage == "prepared"
               ? std::move(prepared)
               : simulate(prepared, config, target_of(config, toolkit), toolkit.patterns).graph;
  }
  if (is_quantized(graph) && stage != "simulated") {
    return graph_of_quantized(std::move(graph), stage, options, config, toolkit);
  }
  if (data == nullptr) {
    throw Error(ErrorCode::kInvalidConfig, "option '--stage'",
                "'" + stage + "' of a float model needs --data");
  }
  Progress progress(console, "calibrating");
  QuantizeResult result =
      quantize(graph, *data, config, toolkit,
               {.threads = static_cast<int>(options.count("threads")),
                .samples = static_cast<std::size_t>(config.samples.value_or(0)),
                .progress = progress.callback()});
  return graph_of(result, stage);
}

}  // namespace tare::cli
