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

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

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

/// Results of one run after another, as rows where their first axis is one of samples. Those
/// behind the graph have a shape of their own in each run.
class ResultWriter {
 public:
  ResultWriter(const std::filesystem::path& path, const Graph& graph, const Dataset& data)
      : writer_(path), graph_(graph) {
    const bool is_whole = are_whole_inputs(graph, data);
    for (const ValueId output : graph.outputs()) {
      // Samples that differ in shape run alone, and a result that has more than one row then
      // says nothing of others.
      const Shape& shape = graph.type(output).shape;
      const bool is_row = !shape.empty() && shape[0] == 1;
      if (!is_whole && (is_row || !data.has_several_shapes())) {
        rows_.insert(graph.name(output));
      }
    }
  }

  void append(std::map<std::string, Tensor> results) {
    for (auto& [name, result] : results) {
      Shape shape = result.shape();
      if (!rows_.contains(name)) {
        shape.insert(shape.begin(), 1);
      }
      writer_.append(name, result.reshaped(shape));
      written_.insert(name);
    }
  }

  /// The names of what was appended, in the order of the model.
  std::vector<std::string> written() const {
    std::vector<std::string> names = model_outputs(graph_);
    std::erase_if(names, [&](const std::string& name) { return !written_.contains(name); });
    return names;
  }

  void finish() { writer_.finish(); }

 private:
  DatasetWriter writer_;
  const Graph& graph_;
  std::set<std::string> rows_;
  std::set<std::string> written_;
};

/// What was not computed, and why. Throws Error(kUnsupported) where that is all of it.
std::vector<Warning> missing_outputs(const Graph& graph,
                                     const std::vector<std::string>& written) {
  std::vector<Warning> warnings;
  Faults faults;
  for (const std::string& name : model_outputs(graph)) {
    if (std::find(written.begin(), written.end(), name) != written.end()) {
      continue;
    }
    const auto& operators = graph.tail->operators;
    auto unknown =
        std::find_if(operators.begin(), operators.end(), [](const Tail::Operator& each) {
          return !each.reason.empty() && !each.depends_on_data;
        });
    if (unknown == operators.end()) {
      unknown = std::find_if(operators.begin(), operators.end(),
                             [](const Tail::Operator& each) { return !each.reason.empty(); });
    }
    const std::string what =
        "cannot be computed" +
        (unknown == operators.end()
             ? std::string()
             : ": node '" + unknown->node + "' (" + unknown->op + "): " + unknown->reason);
    warnings.push_back({"not_computed", "output '" + name + "'", what});
    faults.add("output '" + name + "'", what);
  }
  if (written.empty()) {
    faults.raise(ErrorCode::kUnsupported);
  }
  return warnings;
}

int run_on_samples(const Options& options, const Console& console) {
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
    ResultWriter writer(output, graph, *data);
    std::size_t runs = 0;
    {
      Progress progress(console, "running");
      run_model(
          graph, *data, static_cast<int>(options.count("threads")), options.count("samples"),
          [&](std::size_t, std::map<std::string, Tensor> results) {
            writer.append(std::move(results));
            ++runs;
          },
          progress.callback());
    }
    const std::vector<std::string> written = writer.written();
    say_warnings(missing_outputs(graph, written), console);
    writer.finish();
    if (options.has("json")) {
      console.print(to_text(
          Json{{"model", model}, {"runs", runs}, {"output", output}, {"outputs", written}}));
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
          .run = run_on_samples};
}
