#include "arithmetic.h"

#include "tare/error.h"
#include "tare/pipeline.h"

namespace tare::cli {

Flag numerics_flag() {
  return {.name = "numerics",
          .value = "NAME",
          .summary = "run a quantized model on integers, with the arithmetic of that engine",
          .choices = numerics_names()};
}

std::optional<Numerics> chosen_numerics(const Graph& model, const Options& options) {
  if (!options.has("numerics")) {
    return std::nullopt;
  }
  if (!is_quantized(model)) {
    throw Error(ErrorCode::kInvalidConfig, "", "option '--numerics' is given for a float model")
        .expected("a quantized one");
  }
  return numerics_from_name(options.text("numerics"));
}

Graph runnable(Graph model, const Options& options) {
  const Toolkit& toolkit = Toolkit::builtin();
  const std::optional<Numerics> numerics = chosen_numerics(model, options);
  return numerics ? with_numerics(lower_quantized(std::move(model), {}, toolkit), *numerics)
                  : ready_to_run(std::move(model), {}, toolkit);
}

}  // namespace tare::cli
