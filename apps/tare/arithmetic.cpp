#include "arithmetic.h"

#include "tare/error.h"
#include "tare/integer_graph.h"
#include "tare/quantize.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tare::cli {
namespace {

/// Models that compute none are integers from end to end, with nothing to dequantize.
bool has_real_values(const Graph& graph) {
  const std::vector<ValueId> values = graph.values();
  return std::any_of(values.begin(), values.end(),
                     [&](ValueId value) { return is_float(graph.type(value).dtype); });
}

/// What the configuration and the file of a quantized model state.
constexpr const char* kConfigured = "configured";

std::vector<std::string> choices() {
  std::vector<std::string> names = numerics_names();
  names.emplace_back(kConfigured);
  return names;
}

}  // namespace

Flag numerics_flag() {
  return {.name = "numerics",
          .value = "NAME",
          .summary =
              "arithmetic of a quantized model: of this engine, or the one that it was "
              "configured for",
          .choices = choices()};
}

std::optional<Numerics> asked_numerics(const Options& options) {
  const std::string name = options.text("numerics");
  return name.empty()          ? std::optional(Numerics::kOnnxRuntime)
         : name == kConfigured ? std::nullopt
                               : std::optional(numerics_from_name(name));
}

Graph load_for_numerics(const std::string& model,
                        const std::map<std::string, std::int64_t>& dims, const Dataset* data,
                        const Options& options) {
  const Numerics numerics = asked_numerics(options).value_or(Numerics::kOnnxRuntime);
  Graph graph = load_model(model, dims, data, numerics);
  if (options.has("numerics") && !is_quantized(graph) && has_real_values(graph)) {
    throw Error(ErrorCode::kInvalidConfig, "", "option '--numerics' is given for a float model")
        .expected("a quantized one");
  }
  return graph;
}

Graph load_runnable(const std::string& model, const Dataset* data, const Options& options) {
  const Toolkit& toolkit = Toolkit::builtin();
  Graph graph = load_for_numerics(model, {}, data, options);
  if (!options.has("numerics")) {
    return ready_to_run(std::move(graph), {}, toolkit);
  }
  if (const std::optional<Numerics> numerics = asked_numerics(options)) {
    return with_numerics(lower_quantized(std::move(graph), {}, toolkit), *numerics);
  }
  return lower_quantized(std::move(graph), read_file_metadata(model), {}, toolkit);
}

}  // namespace tare::cli
