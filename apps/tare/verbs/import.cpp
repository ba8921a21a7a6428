// Writes a TensorFlow Lite model as ONNX, or the float network behind a quantized model.

#include "tare/config.h"
#include "tare/error.h"
#include "tare/graph.h"
#include "tare/integer_graph.h"
#include "tare/model_files.h"
#include "tare/quantize.h"

#include "activity.h"
#include "forms.h"
#include "outputs.h"
#include "text.h"
#include "verb.h"

namespace tare::cli {
namespace {

/// The model as it is written: of a quantized one its canonical integer graph in some form.
Graph exported(Graph model, const Options& options) {
  const Toolkit& toolkit = Toolkit::builtin();
  if (!is_quantized(model)) {
    return prepare(std::move(model), toolkit);
  }
  const Target target = read_target(options.text("target"));
  Graph integer = with_tflite_averages(lower_quantized(std::move(model), {}, toolkit));
  if (!options.has("keep-storage")) {
    integer = for_target(std::move(integer), target);
  }
  return export_form(integer, form_of(options), target);
}

/// The float network behind a quantized model of any format.
Graph in_real_values(const std::string& model) {
  const Toolkit& toolkit = Toolkit::builtin();
  // With the operators of the file: integer graphs leave a Relu to what saturates.
  Graph graph = std::filesystem::path(model).extension() == ".tflite"
                    ? read_tflite(model)
                    : load_model(model, {}, nullptr);
  if (!is_quantized(graph)) {
    throw Error(ErrorCode::kInvalidModel, "",
                "the model is not quantized, so there is nothing to dequantize");
  }
  return prepare(dequantized(std::move(graph)), toolkit);
}

/// What belongs to quantized files only.
void check_options(const Options& options) {
  if (options.has("dequantize") && options.has("keep-storage")) {
    throw Error(ErrorCode::kInvalidConfig, "import",
                "options '--dequantize' and '--keep-storage' exclude each other")
        .hint("a float network has no storage types");
  }
}

int import(const Options& options, const Console& console) {
  const std::string model = options.text("MODEL");
  const std::string output = options.text("output");
  check_options(options);
  return during("importing '" + model + "'", [&] {
    CommandFiles files;
    files.reads(model);
    for (const std::filesystem::path& file : target_files(options.text("target"))) {
      files.reads(file);
    }
    files.writes(output, Content::kModel);
    files.check();
    const bool dequantizes = options.has("dequantize");
    Graph graph = dequantizes ? in_real_values(model) : read_tflite(model);
    const bool quantized = !dequantizes && is_quantized(graph);
    const Graph written = dequantizes ? std::move(graph) : exported(std::move(graph), options);
    write_onnx(written, output);
    const std::size_t nodes = written.nodes().size();
    if (options.has("json")) {
      console.print(to_text(Json{
          {"model", model}, {"quantized", quantized}, {"nodes", nodes}, {"output", output}}));
    } else {
      console.say(fmt::format("wrote the {} model of {} to {}\n",
                              quantized ? "quantized" : "float", counted(nodes, "node"),
                              output));
    }
    return 0;
  });
}

}  // namespace
}  // namespace tare::cli

TARE_VERB(import) {
  using namespace tare::cli;
  return {
      .task = Task::kParts,
      .summary = "convert a TensorFlow Lite model to ONNX, with its quantization or without",
      .arguments = {{"MODEL", "model: TensorFlow Lite; with --dequantize ONNX as well"}},
      .flags = {output_flag("model: ONNX"),
                {.name = "target",
                 .value = "NAME",
                 .summary = "target engine",
                 .fallback = tare::Config().target,
                 .choices = tare::target_names(),
                 .or_file = true},
                {.name = "keep-storage",
                 .summary = "keep int8 and uint8 as in the file, whatever the target wants"},
                form_flag(),
                {.name = "dequantize",
                 .summary = "write the float network behind a quantized model, to be quantized "
                            "anew"}},
      .examples = {"tare import model.tflite -o model.onnx",
                   "tare import model.tflite -o model.onnx --target tensorrt",
                   "tare import model.tflite -o model.onnx --keep-storage",
                   "tare import model.int8.tflite -o model.float.onnx --dequantize"},
      .run = import};
}
