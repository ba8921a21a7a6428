#include "dry_run.h"

#include "tare/quantize.h"

#include "printing/estimate_text.h"
#include "printing/warnings.h"

#include <map>

namespace tare::cli {
namespace {

CostEstimate estimate(const Options& options, const Graph& model, const Dataset& data,
                      const Config& config, const Toolkit& toolkit) {
  return estimate_cost(
      model, data, config, toolkit,
      {.threads = static_cast<int>(options.count("threads")), .memory = config.memory});
}

}  // namespace

void say_dry_run(const Options& options, const std::string& file, const Graph& model,
                 const Dataset& data, const Config& config, const Toolkit& toolkit,
                 const Console& console) {
  const DryRun run{.cost = estimate(options, model, data, config, toolkit),
                   .model = file,
                   .output = options.text("output"),
                   .effort = config.effort,
                   .samples = data.size()};
  console.print(options.has("json") ? to_text(as_json(run)) : as_text(run, console.out()));
}

std::string fit_effort(const Options& options, const Graph& model, const Dataset& data,
                       Configuration& configuration, const Console& console,
                       Communicator* team) {
  const double allowed = static_cast<double>(options.seconds("time"));
  const Effort most = options.has("effort") ? configuration.config.effort : Effort::kBest;
  const CostEstimate cost =
      estimate(options, model, data, configuration.config, configuration.toolkit);
  const std::map<Effort, double>& seconds = cost.seconds;
  Effort fitting = Effort::kFast;
  for (const Effort effort : {Effort::kDefault, Effort::kBest}) {
    fitting = effort <= most && seconds.at(effort) <= allowed ? effort : fitting;
  }
  if (team != nullptr) {  // each measured other times
    const std::string own(1, static_cast<char>(fitting));
    fitting = static_cast<Effort>(team->gather(own, Message::kOther).at(0).at(0));
  }
  configuration.config.effort = fitting;
  if (seconds.at(Effort::kFast) > allowed) {
    say_warnings(
        {{"short_of_time", "--time",
          "even with effort fast quantizing is expected to take " +
              std::to_string(static_cast<int>(seconds.at(Effort::kFast))) + " seconds"}},
        console);
  }
  return fitting_text(cost, fitting, most);
}

}  // namespace tare::cli
