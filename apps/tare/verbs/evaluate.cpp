// Compares what a model says of labelled samples with their labels, and what a language model
// says of the tokens of its samples with those that come next.
#include "tare/dataset.h"
#include "tare/quantize.h"
#include "tare/report.h"

#include "activity.h"
#include "arithmetic.h"
#include "configuration.h"
#include "printing/progress.h"
#include "printing/warnings.h"
#include "ranks.h"
#include "text.h"
#include "user_files.h"
#include "verb.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
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

std::size_t samples_in_run(const Graph& graph) {
  const Shape& batch = graph.type(graph.inputs()[0]).shape;
  return batch.empty() ? 1 : static_cast<std::size_t>(std::max<std::int64_t>(batch[0], 1));
}

/// Labels of every sample that the model was run on, as it would give them.
std::vector<std::int64_t> predict(const Graph& graph, const Dataset& data, std::size_t samples,
                                  const Options& options, const Console& console) {
  const std::size_t samples_per_run = samples_in_run(graph);
  std::vector<std::int64_t> predictions;
  Progress progress(console, "evaluating");
  run_dataset(
      graph, data, static_cast<int>(options.count("threads")), samples,
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

/// How many of the samples the model is right on; ranks share them.
Proportion right_answers(const Graph& graph, const Dataset& data,
                         std::span<const std::int64_t> labels, const Options& options,
                         const Console& console, Ranks& ranks) {
  const std::size_t limit = options.count("samples");
  const std::size_t batch = samples_in_run(graph);
  const std::size_t runs = (limit == 0 ? data.size() : std::min(limit, data.size())) / batch;
  const auto [first, end] = ranks.share(runs);
  const auto own = part_of(data, first * batch, (end - first) * batch);
  std::vector<std::int64_t> predictions;
  if (ranks.alone()) {
    predictions = predict(graph, data, limit, options, console);
  } else if (end > first) {
    predictions = predict(graph, *own, 0, options, console);
  }
  std::array<std::uint64_t, 2> counts{0, predictions.size()};
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    counts[0] += predictions[i] == labels[first * batch + i] ? 1U : 0U;
  }
  Proportion all;
  for (const std::string& message : ranks.gather(
           {reinterpret_cast<const char*>(counts.data()), sizeof(counts)}, Message::kErrors)) {
    std::memcpy(counts.data(), message.data(), sizeof(counts));
    all.count += counts[0];
    all.of += counts[1];
  }
  return all;
}

void report(const Options& options, const Console& console, const Proportion& correct) {
  const double share = correct.share();
  const auto [low, high] = correct.interval();
  if (options.has("json")) {
    console.print(to_text({{"model", options.text("MODEL")},
                           {"metric", options.text("metric")},
                           {"value", share},
                           {"correct", correct.count},
                           {"samples", correct.of},
                           {"interval95", {low, high}}}));
    return;
  }
  console.print(console.out().styled(Style::kHeading,
                                     fmt::format("top-1 accuracy {:.2f} %", share * 100)) +
                fmt::format(": {} of {}, 95 % interval {:.2f} to {:.2f} %\n", correct.count,
                            counted(correct.of, "sample"), low * 100, high * 100));
}

/// The loss of the next tokens of samples that the model is run on, `first` being the place of
/// their labels.
NextTokenLoss token_loss(const Graph& graph, const TokenInterface& tokens, const Dataset& data,
                         const std::optional<std::vector<std::int64_t>>& labels,
                         std::size_t first, const Options& options, const Console& console) {
  const auto name_of_input = [&](std::size_t i) { return graph.name(graph.inputs()[i]); };
  const std::size_t batch = are_whole_inputs(graph, data) ? 1 : samples_in_run(graph);
  NextTokenLoss loss;
  Progress progress(console, "evaluating");
  run_dataset(
      graph, data, static_cast<int>(options.count("threads")), 0,
      [&](std::size_t run, std::vector<Tensor> outputs) {
        const Tensor& scores = outputs.at(tokens.logits);
        const auto rows = static_cast<std::size_t>(scores.shape()[0]);
        const std::size_t sample = run * batch;
        const Tensor ids = data.read(name_of_input(tokens.ids), sample, batch);
        const auto mask =
            tokens.mask ? std::optional(data.read(name_of_input(*tokens.mask), sample, batch))
                        : std::nullopt;
        for (std::size_t row = 0; row < rows; ++row) {
          loss.observe(scores.rows(static_cast<std::int64_t>(row), 1),
                       tokens_of(ids, mask ? &*mask : nullptr, row),
                       labels ? std::optional(labels->at(first + sample + row)) : std::nullopt);
        }
      },
      progress.callback());
  return loss;
}

/// That of all samples; ranks share them.
NextTokenLoss shared_token_loss(const Graph& graph, const Dataset& data, std::size_t samples,
                                const std::optional<std::vector<std::int64_t>>& labels,
                                const Options& options, const Console& console, Ranks& ranks) {
  const auto tokens = token_interface(graph);
  if (!tokens) {
    throw Error(ErrorCode::kInvalidModel, options.text("MODEL"), "is no language model")
        .expected("token ids of [batch,length], and scores of [batch,length,vocabulary]");
  }
  const std::size_t batch = are_whole_inputs(graph, data) ? 1 : samples_in_run(graph);
  const auto [first, end] = ranks.share(samples / batch);
  NextTokenLoss own;
  if (end > first) {
    const auto part = part_of(data, first * batch, (end - first) * batch);
    own = token_loss(graph, *tokens, *part, labels, first * batch, options, console);
  }
  NextTokenLoss all;
  for (const std::string& message : ranks.gather(own.told(), Message::kErrors)) {
    all.merge_told(message);
  }
  return all;
}

void report(const Options& options, const Console& console, const NextTokenLoss& loss,
            std::size_t samples) {
  const auto perplexity = loss.perplexity();
  if (!perplexity) {
    throw Error(ErrorCode::kInvalidData, options.text("data"),
                loss.tokens() == 0 ? "holds no token that another comes before"
                                   : "holds tokens whose loss is not finite");
  }
  if (options.has("json")) {
    console.print(to_text({{"model", options.text("MODEL")},
                           {"metric", options.text("metric")},
                           {"value", *perplexity},
                           {"nats", *loss.mean()},
                           {"tokens", loss.tokens()},
                           {"samples", samples}}));
    return;
  }
  console.print(
      console.out().styled(Style::kHeading, fmt::format("perplexity {:.4f}", *perplexity)) +
      fmt::format(": {} of {}, {:.4f} nats each\n", counted(loss.tokens(), "token"),
                  counted(samples, "sample"), *loss.mean()));
}

int evaluate(const Options& options, const Console& given) {
  const std::string model = options.text("MODEL");
  return during("evaluating '" + model + "'", [&] {
    Ranks ranks;
    const Console console = ranks.speaker(given);
    const auto data =
        open_samples(options.text("data"), model, read_configuration(options).config, console);
    const auto labels = data->labels();
    const bool is_of_tokens = options.text("metric") == "perplexity";
    if (!labels && !is_of_tokens) {
      throw Error(ErrorCode::kInvalidData, options.text("data"), "holds no labels")
          .expected("a dataset 'labels' with one integer per sample");
    }
    const Graph graph = load_runnable(model, data.get(), options);
    say_warnings(invalid_constants(graph), console);
    say_warnings(audit_tail(graph), console);
    if (is_of_tokens) {
      const std::size_t limit = options.count("samples");
      const std::size_t samples = limit == 0 ? data->size() : std::min(limit, data->size());
      report(options, console,
             shared_token_loss(graph, *data, samples, labels, options, console, ranks),
             samples);
      return 0;
    }
    report(options, console, right_answers(graph, *data, *labels, options, console, ranks));
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
                           .summary = "what to measure: top-1 accuracy, or the perplexity of "
                                      "the next tokens of a language model, without labels",
                           .fallback = "top1",
                           .choices = {"top1", "perplexity"}},
                          threads_flag(),
                          samples_flag(),
                          numerics_flag()};
  append(flags, input_flags());
  return {.task = Task::kEvaluate,
          .summary =
              "accuracy of a float or quantized model on labelled samples, or its perplexity",
          .arguments =
              {{"MODEL",
                "model: ONNX or TensorFlow Lite; its first output holds one score per class"}},
          .flags = std::move(flags),
          .examples = {"tare evaluate model.onnx --data labelled.h5",
                       "tare evaluate model.int8.onnx --data labelled.h5 --json",
                       "tare evaluate decoder.onnx --data texts.h5 --metric perplexity"},
          .run = evaluate,
          .shares_work = [](const Options&) { return true; }};
}
