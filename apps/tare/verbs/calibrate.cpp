// Collects the statistics of a model on samples, to choose parameters from later.
#include "tare/pipeline.h"

#include "activity.h"
#include "configuration.h"
#include "interrupt.h"
#include "outputs.h"
#include "progress.h"
#include "text.h"
#include "verb.h"

namespace tare::cli {
namespace {

int interrupted(const Console& console, const Statistics& statistics, std::size_t samples) {
  console.say(fmt::format("interrupted after {} of {}; the same command goes on from there\n",
                          statistics.samples, counted(samples, "sample")));
  return Interrupt::exit_status();
}

int run(const Options& options, const Console& console) {
  const std::string model = options.text("MODEL");
  const std::string output = options.text("output");
  return during("calibrating '" + model + "'", [&] {
    require_writable(output, {model, options.text("data"), options.text("config")});
    const auto [config, toolkit] = read_configuration(options);
    const auto data = open_dataset(options.text("data"));
    const Graph graph = load_model(model, config.dims, data.get());
    const SimulatedGraph simulated = simulate_all(graph, config, toolkit);
    const auto limit = static_cast<std::size_t>(config.samples.value_or(0));
    const Interrupt interrupt;
    const Statistics statistics = [&] {
      Progress progress(console, "calibrating");
      return collect_resumably(simulated, *data,
                               {.threads = static_cast<int>(options.count("threads")),
                                .samples = limit,
                                .progress = progress.callback(),
                                .stop = Interrupt::requested},
                               output + ".checkpoint");
    }();
    if (Interrupt::requested()) {
      return interrupted(console, statistics,
                         limit == 0 ? data->size() : std::min(limit, data->size()));
    }
    write_statistics(output, statistics);
    if (options.has("json")) {
      console.print(to_text(Json{{"model", model},
                                 {"output", output},
                                 {"samples", statistics.samples},
                                 {"values", statistics.values.size()}}));
    } else {
      console.say(fmt::format("wrote statistics of {} on {} to {}\n",
                              counted(statistics.values.size(), "value"),
                              counted(statistics.samples, "sample"), output));
    }
    return 0;
  });
}

}  // namespace
}  // namespace tare::cli

TARE_VERB(calibrate) {
  using namespace tare::cli;
  std::vector<Flag> flags{data_flag(true), output_flag("statistics: HDF5")};
  for (Flag& flag : config_flags()) {
    flags.push_back(std::move(flag));
  }
  flags.push_back(threads_flag());
  flags.push_back(samples_flag());
  return {.summary =
              "collect statistics on samples, for quantize --stats; resumes where it stopped",
          .arguments = {{"MODEL", "float model: ONNX"}},
          .flags = std::move(flags),
          .examples = {"tare calibrate model.onnx --data samples.h5 -o statistics.h5"},
          .run = run};
}
