// Writes a TensorFlow Lite model as ONNX.

#include "tare/config.h"
#include "tare/graph.h"
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

int import(const Options& options, const Console& console) {
  const std::string model = options.text("MODEL");
  const std::string output = options.text("output");
  return during("importing '" + model + "'", [&] {
    CommandFiles files;
    files.reads(model);
    for (const std::filesystem::path& file : target_files(options.text("target"))) {
      files.reads(file);
    }
    files.writes(output, Content::kModel);
    files.check();
    const Graph graph = read_tflite(model);
    const bool quantized = is_quantized(graph);
    const Graph written = exported(graph, options);
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
      .summary = "convert a TensorFlow Lite model to ONNX, with its quantization",
      .arguments = {{"MODEL", "model: TensorFlow Lite"}},
      .flags = {output_flag("model: ONNX"),
                {.name = "target",
                 .value = "NAME",
                 .summary = "target engine",
                 .fallback = tare::Config().target,
                 .choices = tare::target_names(),
                 .or_file = true},
                {.name = "keep-storage",
                 .summary = "keep int8 and uint8 as in the file, whatever the target wants"},
                form_flag()},
      .examples = {"tare import model.tflite -o model.onnx",
                   "tare import model.tflite -o model.onnx --target tensorrt",
                   "tare import model.tflite -o model.onnx --keep-storage"},
      .run = import};
}
