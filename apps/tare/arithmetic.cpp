#include "arithmetic.h"

#include "tare/error.h"
#include "tare/numerics.h"
#include "tare/pipeline.h"

namespace tare::cli {

Flag numerics_flag() {
  return {.name = "numerics",
          .value = "NAME",
          .summary = "run a quantized model on integers, with the arithmetic of that engine",
          .choices = numerics_names()};
}

Graph runnable(Graph model, const Options& options) {
  const Toolkit& toolkit = Toolkit::builtin();
  if (!options.has("numerics")) {
    return ready_to_run(std::move(model), {}, toolkit);
  }
  if (!is_quantized(model)) {
    throw Error(ErrorCode::kInvalidConfig, "", "option '--numerics' is given for a float model")
        .expected("a quantized one");
  }
  return with_numerics(lower_quantized(std::move(model), {}, toolkit),
                       numerics_from_name(options.text("numerics")));
}

}  // namespace tare::cli
