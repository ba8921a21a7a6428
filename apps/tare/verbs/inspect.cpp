// Shows a model as the toolkit sees it after one of its stages.

#include "tare/dataset.h"
#include "tare/integer_graph.h"
#include "tare/simulate.h"

#include "activity.h"
#include "configuration.h"
#include "printing/progress.h"
#include "printing/warnings.h"
#include "text.h"
#include "user_files.h"
#include "verb.h"

#include <map>
#include <utility>

namespace tare::cli {
namespace {

constexpr std::int64_t kElideAbove = 8;  // elements of a constant

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
    throw Error(ErrorCode::kInvalidConfig, "inspect",
                "the model is quantized already, so it has no stage '" + stage + "'")
        .expected("float, prepared, integer or exported");
  }
  return lower_quantized(std::move(graph), read_file_metadata(options.text("MODEL")), config,
                         toolkit);
}

Graph graph_at(const std::string& stage, const Options& options, const Console& console) {
  const auto [config, toolkit] = read_configuration(options);
  std::unique_ptr<Dataset> data;
  if (options.has("data")) {
    data = open_samples(options.text("data"));
  }
  const std::string model = options.text("MODEL");
  Graph graph = load_model(model, config.dims, data.get());
  say_warnings(invalid_constants(graph), console);
  if (stage == "float") {
    return graph;
  }
  if (stage == "prepared" || (stage == "simulated" && !data)) {
    Graph prepared = prepare(graph, toolkit);
    check_rules(graph, prepared, config);
    return stage == "prepared"
               ? std::move(prepared)
               : simulate(prepared, config, target_of(config, toolkit), toolkit.patterns).graph;
  }
  if (is_quantized(graph) && stage != "simulated") {
    return graph_of_quantized(std::move(graph), stage, options, config, toolkit);
  }
  if (!data) {
    throw Error(ErrorCode::kInvalidConfig, "inspect",
                "stage '" + stage + "' of a float model needs --data");
  }
  Progress progress(console, "calibrating");
  QuantizeResult result =
      quantize(graph, *data, config, toolkit,
               {.threads = static_cast<int>(options.count("threads")),
                .samples = static_cast<std::size_t>(config.samples.value_or(0)),
                .progress = progress.callback()});
  return graph_of(result, stage);
}

Json types(const Graph& graph, std::span<const ValueId> values) {
  Json list = Json::array();
  for (const ValueId value : values) {
    const TensorType& type = graph.type(value);
    list.push_back(
        {{"name", graph.name(value)}, {"dtype", name_of(type.dtype)}, {"shape", type.shape}});
  }
  return list;
}

Json overview(const Graph& graph) {
  std::map<std::string, std::size_t> operators;
  for (const NodeId node : graph.nodes()) {
    ++operators[graph.node(node).op];
  }
  return {{"inputs", types(graph, graph.inputs())},
          {"outputs", types(graph, graph.outputs())},
          {"operators", operators}};
}

int inspect(const Options& options, const Console& console) {
  const std::string model = options.text("MODEL");
  const std::string stage = options.text("stage");
  const Graph graph =
      during("inspecting '" + model + "'", [&] { return graph_at(stage, options, console); });
  if (options.has("json")) {
    Json json{{"model", model}, {"stage", stage}};
    json.update(overview(graph));
    console.print(to_text(json));
  } else {
    console.print(options.has("full") ? print(graph) : print(graph, kElideAbove));
  }
  return 0;
}

}  // namespace
}  // namespace tare::cli

TARE_VERB(inspect) {
  using namespace tare::cli;
  std::vector<Flag> flags{
      {.name = "stage",
       .value = "NAME",
       .summary = "the stage; simulated is calibrated if there is --data, and those behind it "
                  "need --data or, integer and exported, a quantized model",
       .fallback = "float",
       .choices = {"float", "prepared", "simulated", "affine", "expanded", "integer",
                   "exported"}},
      {.name = "full",
       .summary =
           "print all elements of constants, so that other verbs can read the text as a model "
           "(.tir); otherwise ... stands for those of more than 8"},
      data_flag(false)};
  append(flags, config_flags());
  append(flags, {threads_flag(), samples_flag()});
  return {.task = Task::kExplain,
          .summary = "print a model as text, as it is after one of the stages",
          .arguments = {{"MODEL", "model: ONNX or TensorFlow Lite"}},
          .flags = std::move(flags),
          .examples =
              {"tare inspect model.onnx --stage prepared",
               "tare inspect model.onnx --stage simulated --data samples.h5",
               "tare inspect model.onnx --stage integer --data samples.h5",
               "tare inspect model.onnx --stage affine --data samples.h5 --full > affine.tir",
               "tare inspect model.int8.onnx --stage integer"},
          .run = inspect};
}
