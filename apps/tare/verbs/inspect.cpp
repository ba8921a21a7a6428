// Shows a model as the toolkit sees it after one of its stages.

#include "tare/dataset.h"
#include "tare/graph.h"

#include "activity.h"
#include "configuration.h"
#include "stage.h"
#include "text.h"
#include "user_files.h"
#include "verb.h"

#include <map>
#include <utility>

namespace tare::cli {
namespace {

constexpr std::int64_t kElideAbove = 8;  // elements of a constant

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
  const Graph graph = during("inspecting '" + model + "'", [&] {
    std::unique_ptr<Dataset> data;
    if (options.has("data")) {
      data = open_samples(options.text("data"), model, read_configuration(options).config,
                          console);
    }
    return graph_at_stage(options, data.get(), console);
  });
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
      stage_flag("float"),
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
