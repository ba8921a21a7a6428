#include "engine_flags.h"

namespace tare::cli {

std::vector<Flag> engine_flags(const std::string& threads, bool required) {
  return {{.name = "engine",
           .value = "ENGINE",
           .summary = "what measures: onnxruntime, onnxruntime-node, tare, a command that "
                      "speaks their protocol, or one with {model} in it that prints a time",
           .required = required},
          {.name = threads,
           .value = "N",
           .summary = "number of threads of the engine",
           .fallback = "1",
           .is_count = true},
          {.name = "engine-timeout",
           .value = "TIME",
           .summary = "after which an engine that does not answer is given up",
           .fallback = "60s",
           .is_duration = true}};
}

Flag tune_time_flag(std::string summary) {
  return {.name = "tune-time",
          .value = "TIME",
          .summary = std::move(summary),
          .fallback = "60s",
          .is_duration = true};
}

EngineOptions engine_of(const Options& options, const std::string& threads) {
  return {.engine = options.text("engine"),
          .threads = static_cast<int>(options.count(threads)),
          .patience = static_cast<double>(options.seconds("engine-timeout"))};
}

std::string engine_text(const EngineFacts& engine) {
  return printable(fmt::format(
      "{}{}{}, {}, {}", engine.name, engine.version.empty() ? "" : " ", engine.version,
      counted(static_cast<std::size_t>(engine.threads), "thread"), engine.processor));
}

Json engine_json(const EngineFacts& engine) {
  return {{"name", engine.name},
          {"version", engine.version},
          {"processor", engine.processor},
          {"threads", engine.threads}};
}

std::string speed_text(const ConfidenceInterval& speed) {
  return fmt::format("{:.2f}x as fast ({:.2f} to {:.2f})", speed.value, speed.low, speed.high);
}

Json interval_json(const ConfidenceInterval& interval) {
  return {{"value", interval.value}, {"low", interval.low}, {"high", interval.high}};
}

}  // namespace tare::cli
