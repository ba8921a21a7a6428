// Compares what a model says of labelled samples with their labels.
#include "tare/quantize.h"
#include "tare/report.h"

#include "activity.h"
#include "arithmetic.h"
#include "configuration.h"
#include "printing/progress.h"
#include "printing/warnings.h"
#include "text.h"
#include "user_files.h"
#include "verb.h"

#include <algorithm>
#include <utility>

namespace tare::cli {
namespace {

/// Index of the largest element of each row of the last axis; the first one where several are
/// equal.
std::vector<std::int64_t> argmax_rows(const Tensor& scores) {
  const std::vector<double> values = scores.to_double();
  const std::int64_t width = scores.shape().empty() ? 1 : scores.shape().back();
  std::vector<std::int64_t> result;
  for (auto row = values.begin(); row != values.end(); row += width) {
    result.push_back(std::max_element(row, row + width) - row);
  }
  return result;
}

/// Labels of every sample that the model was run on, as it would give them.
std::vector<std::int64_t> predict(const Graph& graph, const Dataset& data,
                                  const Options& options, const Console& console) {
  const Shape& batch = graph.type(graph.inputs()[0]).shape;
  const std::size_t samples_per_run =
      batch.empty() ? 1 : static_cast<std::size_t>(std::max<std::int64_t>(batch[0], 1));
  std::vector<std::int64_t> predictions;
  Progress progress(console, "evaluating");
  run_dataset(
      graph, data, static_cast<int>(options.count("threads")), options.count("samples"),
      [&](std::size_t, std::vector<Tensor> outputs) {
        const std::vector<std::int64_t> found = argmax_rows(outputs.at(0));
        if (found.size() != samples_per_run) {
          throw Error(ErrorCode::kInvalidModel,
                      "output '" + graph.name(graph.outputs()[0]) + "'",
                      "has shape " + to_string(outputs[0].shape()) + " for " +
                          counted(samples_per_run, "sample"))
              .expected("one row of scores for each sample");
        }
        predictions.insert(predictions.end(), found.begin(), found.end());
      },
      progress.callback());
  return predictions;
}

void report(const Options& options, const Console& console, std::size_t hits,
            std::size_t total) {
  const Proportion correct{hits, total};
  const double share = correct.share();
  const auto [low, high] = correct.interval();
  if (options.has("json")) {
    console.print(to_text({{"model", options.text("MODEL")},
                           {"metric", options.text("metric")},
                           {"value", share},
                           {"correct", hits},
                           {"samples", total},
                           {"interval95", {low, high}}}));
    return;
  }
  console.print(console.out().styled(Style::kHeading,
                                     fmt::format("top-1 accuracy {:.2f} %", share * 100)) +
                fmt::format(": {} of {}, 95 % interval {:.2f} to {:.2f} %\n", hits,
                            counted(total, "sample"), low * 100, high * 100));
}

int evaluate(const Options& options, const Console& console) {
  const std::string model = options.text("MODEL");
  return during("evaluating '" + model + "'", [&] {
    const auto data =
        open_samples(options.text("data"), model, read_configuration(options).config, console);
    const auto labels = data->labels();
    if (!labels) {
      throw Error(ErrorCode::kInvalidData, options.text("data"), "holds no labels")
          .expected("a dataset 'labels' with one integer per sample");
    }
    const Graph graph = load_runnable(model, data.get(), options);
    say_warnings(invalid_constants(graph), console);
    say_warnings(audit_tail(graph), console);
    const std::vector<std::int64_t> predictions = predict(graph, *data, options, console);
    std::size_t hits = 0;
    for (std::size_t i = 0; i < predictions.size(); ++i) {
      hits += predictions[i] == labels->at(i) ? 1U : 0U;
    }
    report(options, console, hits, predictions.size());
    return 0;
  });
}

}  // namespace
}  // namespace tare::cli

TARE_VERB(evaluate) {
  using namespace tare::cli;
  std::vector<Flag> flags{data_flag(true),
                          {.name = "metric",
                           .value = "NAME",
                           .summary = "what to measure",
                           .fallback = "top1",
                           .choices = {"top1"}},
                          threads_flag(),
                          samples_flag(),
                          numerics_flag()};
  append(flags, input_flags());
  return {.task = Task::kEvaluate,
          .summary = "accuracy of a float or quantized model on labelled samples",
          .arguments =
              {{"MODEL",
                "model: ONNX or TensorFlow Lite; its first output holds one score per class"}},
          .flags = std::move(flags),
          .examples = {"tare evaluate model.onnx --data labelled.h5",
                       "tare evaluate model.int8.onnx --data labelled.h5 --json"},
          .run = evaluate};
}
