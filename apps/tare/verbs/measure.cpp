// Says how much faster one model is than another, in the engine that is to run them.
#include "tare/execute.h"
#include "tare/model_files.h"

#include "activity.h"
#include "configuration.h"
#include "engine_flags.h"
#include "printing/progress.h"
#include "user_files.h"
#include "verb.h"

namespace tare::cli {
namespace {

std::string latency_text(const Quartiles& time) {
  constexpr double kMillisecond = 1e6;
  return fmt::format("{:10.4f} ms  ({:.4f} to {:.4f})", time.median / kMillisecond,
                     time.low / kMillisecond, time.high / kMillisecond);
}

Json latency_json(const std::string& file, const Quartiles& time) {
  return {
      {"file", file},
      {"nanoseconds",
       {{"median", time.median}, {"low_quartile", time.low}, {"high_quartile", time.high}}}};
}

int run_measure(const Options& options, const Console& console) {
  const std::string first = options.text("FIRST");
  const std::string second = options.text("SECOND");
  const SpeedComparison speed = during("measuring '" + second + "'", [&] {
    const Configuration configuration = read_configuration(options);
    std::unique_ptr<Dataset> data;
    if (options.has("data")) {
      data = open_samples(options.text("data"), first, configuration.config, console);
    }
    Progress progress(console, "measuring", "");
    return measure_speed(first, second, engine_of(options, "threads"), configuration.config,
                         data.get(),
                         {.seconds = static_cast<double>(options.count("seconds")),
                          .precision = 0.01,
                          .progress = progress.callback()});
  });
  if (options.has("json")) {
    console.print(to_text(Json{{"engine", engine_json(speed.engine)},
                               {"rounds", speed.rounds},
                               {"first", latency_json(first, speed.first)},
                               {"second", latency_json(second, speed.second)},
                               {"ratio", interval_json(speed.ratio)}}));
    return 0;
  }
  console.print(
      fmt::format("engine  {}\nfirst   {}  {}\nsecond  {}  {}\nratio   the second is "
                  "{}, in {}\n",
                  engine_text(speed.engine), latency_text(speed.first), printable(first),
                  latency_text(speed.second), printable(second), speed_text(speed.ratio),
                  counted(speed.rounds, "round")));
  return 0;
}

}  // namespace
}  // namespace tare::cli

TARE_VERB(measure) {
  using namespace tare::cli;
  std::vector<Flag> flags = engine_flags("threads", true);
  append(
      flags,
      {data_flag(false),
       {.name = "seconds",
        .value = "N",
        .summary = "time to spend; less where 1 % is reached before",
        .fallback = "10",
        .is_count = true},
       {.name = "config", .value = "FILE", .summary = "configuration, of which 'dims' counts"},
       {.name = "set",
        .value = "KEY=VALUE",
        .summary = "one key of it, such as dims.height=224",
        .repeated = true}});
  return {.task = Task::kEvaluate,
          .summary = "how much faster one model is than another, measured in an engine",
          .arguments = {{"FIRST", "model that the engine reads, usually the float one"},
                        {"SECOND", "another one, which is compared with it"}},
          .flags = std::move(flags),
          .examples = {"tare measure model.onnx model.int8.onnx --engine onnxruntime",
                       "tare measure model.onnx model.int8.onnx --engine 'trtexec "
                       "--onnx={model}' --seconds 60",
                       "tare measure model.onnx model.int8.onnx --engine 'ssh board python3 "
                       "onnxruntime_engine.py' --data samples.h5"},
          .run = run_measure};
}
