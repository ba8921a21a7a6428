#include "configuration.h"

#include "tare/pipeline.h"

namespace tare::cli {

std::vector<Flag> config_flags() {
  return {{.name = "config",
           .value = "FILE",
           .summary = "configuration: YAML, see 'tare help config'"},
          {.name = "target",
           .value = "NAME",
           .summary = "target engine (overrides the configuration)",
           .choices = target_names()},
          {.name = "set",
           .value = "KEY=VALUE",
           .summary = "one key of the configuration, such as activations.calibrator=percentile",
           .repeated = true}};
}

std::vector<Flag> calibrating_flags() {
  std::vector<Flag> flags = config_flags();
  append(flags, {threads_flag(), samples_flag(), effort_flag(), memory_flag()});
  return flags;
}

Configuration read_configuration(const Options& options) {
  Toolkit toolkit = Toolkit::builtin();
  load_plugins(read_plugins(options.text("config"), options.all("set")), toolkit);
  Config config =
      read_config(options.text("config"), options.all("set"), toolkit.calibrator_names());
  if (options.has("target")) {
    config.target = options.text("target");
  }
  if (options.has("samples")) {
    config.samples = static_cast<std::int64_t>(options.count("samples"));
  }
  if (options.has("effort")) {
    const std::string effort = options.text("effort");
    config.effort = effort == "fast"   ? Effort::kFast
                    : effort == "best" ? Effort::kBest
                                       : Effort::kDefault;
  }
  if (options.has("memory")) {
    config.memory = *parse_bytes(options.text("memory"));
  }
  return {std::move(config), std::move(toolkit)};
}

}  // namespace tare::cli
