// Says layer by layer how far a quantized model is from the float one.
#include "tare/compare.h"
#include "tare/pipeline.h"
#include "tare/report_file.h"

#include "activity.h"
#include "configuration.h"
#include "progress.h"
#include "text.h"
#include "verb.h"

namespace tare::cli {
namespace {

int run(const Options& options, const Console& console) {
  const auto [config, toolkit] = read_configuration(options);
  const auto data = open_dataset(options.text("data"));
  const Graph model = load_model(options.text("FLOAT"), config.dims, data.get());
  Graph quantized = load_model(options.text("QUANTIZED"), config.dims, data.get());
  Progress progress(console, "comparing");
  const Report report = compare_models(model, std::move(quantized), *data, config, toolkit,
                                       {.threads = static_cast<int>(options.count("threads")),
                                        .samples = options.count("samples"),
                                        .progress = progress.callback()});
  console.print(options.has("json") ? report_json(report) : report_csv(report));
  return 0;
}

}  // namespace
}  // namespace tare::cli

TARE_VERB(compare) {
  using namespace tare::cli;
  std::vector<Flag> flags{data_flag(true)};
  for (Flag& flag : config_flags()) {
    flags.push_back(std::move(flag));
  }
  flags.push_back(threads_flag());
  flags.push_back(samples_flag());
  return {.summary = "say layer by layer how far a quantized model is from the float one",
          .arguments = {{"FLOAT", "float model: ONNX"},
                        {"QUANTIZED", "quantized model of it, ours or another tool's: ONNX"}},
          .flags = std::move(flags),
          .examples = {"tare compare model.onnx model.int8.onnx --data samples.h5"},
          .run = run};
}
