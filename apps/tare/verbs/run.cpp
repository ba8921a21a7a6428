// Runs a model on samples and writes what comes out.

#include "tare/quantize.h"

#include "activity.h"
#include "arithmetic.h"
#include "configuration.h"
#include "outputs.h"
#include "printing/progress.h"
#include "printing/warnings.h"
#include "stage.h"
#include "text.h"
#include "user_files.h"
#include "verb.h"

#include <filesystem>

namespace tare::cli {
namespace {

/// The model, or what it is after the stage that was asked for.
Graph runnable(const std::string& model, const Dataset& data, const Options& options,
               const Console& console) {
  if (options.has("stage")) {
    const Configuration configuration = read_configuration(options);
    return ready_to_run(graph_at_stage(options, &data, console), configuration.config,
                        configuration.toolkit);
  }
  Graph graph = load_runnable(model, &data, options);
  say_warnings(invalid_constants(graph), console);
  return graph;
}

/// For each output whether its first axis is none of samples. Where these differ in shape, each
/// is run alone, and a result that has more than one row says nothing of others.
std::vector<bool> whole_results(const Graph& graph, const Dataset& data) {
  const bool is_whole = are_whole_inputs(graph, data);
  std::vector<bool> result;
  for (const ValueId output : graph.outputs()) {
    const Shape& shape = graph.type(output).shape;
    const bool is_row = !shape.empty() && shape[0] == 1;
    result.push_back(is_whole || (data.has_several_shapes() && !is_row));
  }
  return result;
}

int run_model(const Options& options, const Console& console) {
  const std::string model = options.text("MODEL");
  const std::string output = options.text("output");
  return during("running '" + model + "'", [&] {
    CommandFiles files;
    files.reads_model(model);
    files.reads(options.text("data"));
    add_configuration(options, files);
    files.writes(output, Content::kArrays);
    files.check();
    const auto data =
        open_samples(options.text("data"), model, read_configuration(options).config, console);
    const Graph graph = runnable(model, *data, options, console);
    DatasetWriter writer(output);
    std::size_t runs = 0;
    const std::vector<bool> is_whole = whole_results(graph, *data);
    {
      Progress progress(console, "running");
      run_dataset(
          graph, *data, static_cast<int>(options.count("threads")), options.count("samples"),
          [&](std::size_t, std::vector<Tensor> results) {
            for (std::size_t i = 0; i < results.size(); ++i) {
              Shape shape = results[i].shape();
              if (is_whole[i]) {  // results are no rows either
                shape.insert(shape.begin(), 1);
              }
              writer.append(graph.name(graph.outputs()[i]), results[i].reshaped(shape));
            }
            ++runs;
          },
          progress.callback());
    }
    writer.finish();
    if (options.has("json")) {
      Json json{{"model", model}, {"runs", runs}, {"output", output}};
      for (const ValueId value : graph.outputs()) {
        json["outputs"].push_back(graph.name(value));
      }
      console.print(to_text(json));
    } else {
      console.say(fmt::format("wrote the results of {} to {}\n", counted(runs, "run"), output));
    }
    return 0;
  });
}

}  // namespace
}  // namespace tare::cli

TARE_VERB(run) {
  using namespace tare::cli;
  std::vector<Flag> flags{
      data_flag(true),
      output_flag("HDF5: one dataset per model output, one result after another; where these "
                  "differ in shape, one group for each sample"),
      threads_flag(),
      samples_flag(),
      numerics_flag(),
      stage_flag("")};
  append(flags, config_flags());
  return {.task = Task::kEvaluate,
          .summary = "run a float or quantized model on samples",
          .arguments = {{"MODEL", "model: ONNX or TensorFlow Lite"}},
          .flags = std::move(flags),
          .examples = {"tare run model.onnx --data samples.h5 -o outputs.h5",
                       "tare run model.onnx --data samples.h5 -o outputs.h5 --stage simulated",
                       "tare run model.tflite --data samples.h5 -o outputs.h5 --numerics "
                       "tflite_ref"},
          .run = run_model};
}
