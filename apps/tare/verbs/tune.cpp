// Measures what the layers of a network cost in an engine, for a target of its own.
#include "tare/process.h"
#include "tare/quantize.h"
#include "tare/search.h"

#include "activity.h"
#include "configuration.h"
#include "engine_flags.h"
#include "outputs.h"
#include "printing/progress.h"
#include "user_files.h"
#include "verb.h"

namespace tare::cli {
namespace {

int run_tune(const Options& options, const Console& console) {
  const std::string model = options.text("MODEL");
  const std::string output = options.text("output");
  const TunedTarget tuned = during("tuning for '" + model + "'", [&] {
    const Configuration configuration = read_configuration(options);
    CommandFiles files;
    files.reads_model(model);
    files.reads(options.text("data"));
    add_configuration(options, files);
    files.writes(output, Content::kTable);
    files.check();
    std::unique_ptr<Dataset> data;
    if (options.has("data")) {
      data = open_samples(options.text("data"), model, configuration.config, console);
    }
    const Graph graph = load_model(model, configuration.config.dims, data.get());
    Progress progress(console, "tuning", "segments");
    TunedTarget result = tune(graph, configuration.config, configuration.toolkit,
                              {.engine = engine_of(options, "threads"),
                               .seconds = static_cast<double>(options.seconds("tune-time")),
                               .cache = {},
                               .progress = progress.callback()});
    write_text(output, result.text);
    return result;
  });
  if (options.has("json")) {
    console.print(to_text(Json{{"model", model},
                               {"output", output},
                               {"engine", engine_json(tuned.engine)},
                               {"layers", tuned.layers},
                               {"segments", tuned.segments},
                               {"cached", tuned.cached},
                               {"median_error", tuned.error}}));
  } else if (!console.is_quiet()) {
    console.print(fmt::format(
        "{} -> {}\n  engine    {}\n  measured  {} of different shapes, in {}, {} of them "
        "before\n  error     {:.1f} % in the median\n",
        printable(model), printable(output), engine_text(tuned.engine),
        counted(tuned.layers, "layer"), counted(tuned.segments, "segment"), tuned.cached,
        100 * tuned.error));
  }
  return 0;
}

}  // namespace
}  // namespace tare::cli

TARE_VERB(tune) {
  using namespace tare::cli;
  std::vector<Flag> flags = engine_flags("threads", true);
  append(flags, {output_flag("target with the measured costs: YAML, for --target"),
                 tune_time_flag(
                     "time to spend; what was not measured then keeps the costs of the target"),
                 data_flag(false)});
  append(flags, config_flags());
  return {.task = Task::kQuantize,
          .summary = "measure what the layers of a model cost in an engine, for --target",
          .arguments = {{"MODEL", "float model: ONNX or TensorFlow Lite"}},
          .flags = std::move(flags),
          .examples = {"tare tune model.onnx --engine onnxruntime -o tuned.yaml",
                       "tare quantize model.onnx --data samples.h5 -o model.int8.onnx --target "
                       "tuned.yaml"},
          .run = run_tune};
}
