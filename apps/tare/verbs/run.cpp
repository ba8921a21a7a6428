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

/// Results of one run after another. Those behind the graph may have a shape of their own in
/// each run, so they are kept until all are known.
class ResultWriter {
 public:
  ResultWriter(const std::filesystem::path& path, const Graph& graph, bool is_whole)
      : writer_(path), graph_(graph), is_whole_(is_whole) {}

  void append(std::map<std::string, Tensor> results) {
    for (auto& [name, result] : results) {
      const auto value = graph_.find_value(name);
      if (!value || !graph_.is_output(*value)) {
        open_[name].push_back(std::move(result));
        continue;
      }
      Shape shape = result.shape();
      if (is_whole_) {  // results are no rows either
        shape.insert(shape.begin(), 1);
      }
      writer_.append(name, result.reshaped(shape));
      written_.insert(name);
    }
  }

  /// Writes what is left. Returns the names of all, in the order of the model.
  std::vector<std::string> write_rest() {
    for (const auto& [name, results] : open_) {
      write_open(name, results);
      written_.insert(name);
    }
    std::vector<std::string> names = model_outputs(graph_);
    std::erase_if(names, [&](const std::string& name) { return !written_.contains(name); });
    return names;
  }

  void finish() { writer_.finish(); }

 private:
  void write_open(const std::string& name, const std::vector<Tensor>& results) {
    const auto row_of = [](const Tensor& tensor) {
      const Shape& shape = tensor.shape();
      return shape.empty() ? Shape{} : Shape(shape.begin() + 1, shape.end());
    };
    bool same_rows = true;
    bool same_shapes = true;
    bool same_ranks = true;
    for (const Tensor& result : results) {
      same_ranks = same_ranks && result.shape().size() == results[0].shape().size();
      same_rows = same_rows && row_of(result) == row_of(results[0]);
      same_shapes = same_shapes && result.shape() == results[0].shape();
    }
    for (const Tensor& result : results) {
      const Shape shape = same_ranks ? result.shape() : Shape{result.size()};
      const auto rank = static_cast<std::int64_t>(shape.size());
      writer_.append(name, same_rows ? result : result.reshaped({result.size()}));
      if (!same_shapes) {
        writer_.append(name + ".shapes", Tensor::of<std::int64_t>({1, rank}, shape));
      }
    }
  }

  DatasetWriter writer_;
  const Graph& graph_;
  bool is_whole_;
  std::set<std::string> written_;
  std::map<std::string, std::vector<Tensor>> open_;
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
    ResultWriter writer(output, graph, are_whole_inputs(graph, *data));
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
    const std::vector<std::string> written = writer.write_rest();
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
      output_flag("HDF5: one dataset per model output, one result after another"),
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
