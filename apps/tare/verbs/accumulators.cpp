// Says how many bits the sums of products of a quantized model need.
#include "tare/dataset.h"
#include "tare/error.h"
#include "tare/graph.h"
#include "tare/integer_graph.h"
#include "tare/quantize.h"

#include "activity.h"
#include "configuration.h"
#include "printing/layout.h"
#include "printing/progress.h"
#include "text.h"
#include "user_files.h"
#include "verb.h"

#include <memory>
#include <optional>

namespace tare::cli {
namespace {

struct Need {
  std::string node;
  std::string op;
  int worst_case = 0;
  std::optional<int> observed;  ///< absent without samples
};

std::vector<Need> needs(const Options& options, const Console& console) {
  const auto [config, toolkit] = read_configuration(options);
  std::unique_ptr<Dataset> data;
  if (options.has("data")) {
    data = open_samples(options.text("data"), options.text("MODEL"), config, console);
  }
  Graph model = load_model(options.text("MODEL"), config.dims, data.get());
  if (!is_quantized(model)) {
    throw Error(ErrorCode::kInvalidModel, "accumulators", "the model is not quantized")
        .hint("'tare quantize' makes a quantized one");
  }
  const Graph integer = lower_quantized(std::move(model), config, toolkit);
  std::vector<Need> result;
  for (const AccumulatorRange& sums : worst_case_accumulators(integer)) {
    const Node& node = integer.node(sums.node);
    result.push_back({layer_name(node.name), node.op, sums.range.bits(), {}});
  }
  if (data) {
    Progress progress(console, "measuring accumulators");
    const std::vector<AccumulatorRange> observed = observed_accumulators(
        integer, *data, static_cast<int>(options.count("threads")),
        static_cast<std::size_t>(config.samples.value_or(0)), progress.callback());
    for (std::size_t i = 0; i < observed.size(); ++i) {
      result[i].observed = observed[i].range.bits();
    }
  }
  return result;
}

std::string as_text(const std::vector<Need>& needs, const Terminal& terminal) {
  std::string text = terminal.styled(Style::kHeading, fmt::format("{:>10}  {:>8}  node",
                                                                  "worst case", "observed")) +
                     "\n";
  for (const Need& need : needs) {
    text += fmt::format("{:>10}  {:>8}  {}\n", need.worst_case,
                        need.observed ? std::to_string(*need.observed) : "-",
                        shortened(need.node, terminal.name_columns()));
  }
  return text;
}

Json as_json(const std::string& model, const std::vector<Need>& needs) {
  Json json{{"model", model}, {"bits", Json::array()}};
  for (const Need& need : needs) {
    Json& entry = json["bits"].emplace_back(
        Json{{"node", need.node}, {"op", need.op}, {"worst_case", need.worst_case}});
    if (need.observed) {
      entry["observed"] = *need.observed;
    }
  }
  return json;
}

int run_accumulators(const Options& options, const Console& console) {
  const std::string model = options.text("MODEL");
  const std::vector<Need> all = during("measuring the accumulators of '" + model + "'",
                                       [&] { return needs(options, console); });
  console.print(options.has("json") ? to_text(as_json(model, all))
                                    : as_text(all, console.out()));
  return 0;
}

}  // namespace
}  // namespace tare::cli

TARE_VERB(accumulators) {
  using namespace tare::cli;
  std::vector<Flag> flags{data_flag(false)};
  append(flags, config_flags());
  append(flags, {threads_flag(), samples_flag()});
  return {.task = Task::kExplain,
          .summary = "print how many accumulator bits each layer of a quantized model needs",
          .arguments = {{"MODEL", "quantized model: ONNX or TensorFlow Lite"}},
          .flags = std::move(flags),
          .examples = {"tare accumulators model.int8.onnx",
                       "tare accumulators model.int8.onnx --data samples.h5"},
          .run = run_accumulators};
}
