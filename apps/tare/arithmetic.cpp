#include "arithmetic.h"

#include "tare/error.h"
#include "tare/pipeline.h"

#include <algorithm>

namespace tare::cli {
namespace {

/// Models that compute none are integers from end to end, with nothing to dequantize.
bool has_real_values(const Graph& graph) {
  const std::vector<ValueId> values = graph.values();
  return std::any_of(values.begin(), values.end(),
                     [&](ValueId value) { return is_float(graph.type(value).dtype); });
}

}  // namespace

Flag numerics_flag() {
  return {.name = "numerics",
          .value = "NAME",
          .summary = "run a quantized model on integers, with the arithmetic of that engine",
          .choices = numerics_names()};
}

std::optional<Numerics> asked_numerics(const Options& options) {
  return options.has("numerics") ? std::optional(numerics_from_name(options.text("numerics")))
                                 : std::nullopt;
}

Graph load_for_numerics(const std::string& model,
                        const std::map<std::string, std::int64_t>& dims, const Dataset* data,
                        const Options& options) {
  const std::optional<Numerics> numerics = asked_numerics(options);
  Graph graph = load_model(model, dims, data, numerics.value_or(Numerics::kOnnxRuntime));
  if (numerics && !is_quantized(graph) && has_real_values(graph)) {
    throw Error(ErrorCode::kInvalidConfig, "", "option '--numerics' is given for a float model")
        .expected("a quantized one");
  }
  return graph;
}

Graph load_runnable(const std::string& model, const Dataset* data, const Options& options) {
  const Toolkit& toolkit = Toolkit::builtin();
  const std::optional<Numerics> numerics = asked_numerics(options);
  Graph graph = load_for_numerics(model, {}, data, options);
  return numerics ? with_numerics(lower_quantized(std::move(graph), {}, toolkit), *numerics)
                  : ready_to_run(std::move(graph), {}, toolkit);
}

}  // namespace tare::cli
