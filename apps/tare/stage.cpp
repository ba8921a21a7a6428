#include "stage.h"

#include "tare/quantize.h"

#include "configuration.h"
#include "printing/progress.h"
#include "printing/warnings.h"

#include <utility>

namespace tare::cli {
Flag stage_flag(std::string fallback) {
  return {.name = "stage",
          .value = "NAME",
          .summary =
              "the model after that stage; simulated is calibrated if there is --data, and "
              "those behind it "
              "need --data or, integer and exported, a quantized model",
          .fallback = std::move(fallback),
          .choices = {stage_names().begin(), stage_names().end()}};
}

Graph graph_at_stage(const Options& options, const Dataset* data, const Console& console) {
  const auto [config, toolkit] = read_configuration(options);
  const std::string file = options.text("MODEL");
  Graph model = load_model(file, config.dims, data);
  say_warnings(invalid_constants(model), console);
  say_warnings(audit_tail(model), console);
  Progress progress(console, "calibrating");
  return tare::graph_at_stage(std::move(model), options.text("stage"), file, data, config,
                              toolkit,
                              {.threads = static_cast<int>(options.count("threads")),
                               .samples = static_cast<std::size_t>(config.samples.value_or(0)),
                               .progress = progress.callback()});
}

}  // namespace tare::cli
