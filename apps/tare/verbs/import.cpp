// Writes a TensorFlow Lite model as ONNX.
#include "tare/pipeline.h"
#include "tare/tflite.h"

#include "activity.h"
#include "forms.h"
#include "outputs.h"
#include "text.h"
#include "verb.h"

#include <algorithm>

namespace tare::cli {
namespace {

/// The model as it is written: of a quantized one its canonical integer graph in some form.
Graph exported(Graph model, Form form) {
  const Toolkit& toolkit = Toolkit::builtin();
  return is_quantized(model) ? export_form(lower_quantized(std::move(model), {}, toolkit), form)
                             : prepare(std::move(model), toolkit);
}

int import(const Options& options, const Console& console) {
  const std::string model = options.text("MODEL");
  const std::string output = options.text("output");
  return during("importing '" + model + "'", [&] {
    require_writable(output, {model});
    const Graph graph = read_tflite(model);
    const bool quantized = is_quantized(graph);
    const Graph written = exported(graph, form_of(options));
    write_onnx(written, output);
    const std::size_t operators = written.nodes().size();
    if (options.has("json")) {
      console.print(to_text(Json{{"model", model},
                                 {"quantized", quantized},
                                 {"operators", operators},
                                 {"output", output}}));
    } else {
      console.say(fmt::format("wrote the {} model of {} to {}\n",
                              quantized ? "quantized" : "float", counted(operators, "operator"),
                              output));
    }
    return 0;
  });
}

}  // namespace
}  // namespace tare::cli

TARE_VERB(import) {
  using namespace tare::cli;
  return {.summary = "write a TensorFlow Lite model as ONNX, quantized as it is",
          .arguments = {{"MODEL", "model: TensorFlow Lite"}},
          .flags = {output_flag("model: ONNX"), form_flag()},
          .examples = {"tare import model.tflite -o model.onnx",
                       "tare import model.tflite -o model.onnx --form qoperator"},
          .run = import};
}
