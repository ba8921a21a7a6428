#include "configuration.h"

#include "tare/calibrator.h"
#include "tare/process.h"

#include <algorithm>
#include <utility>

namespace tare::cli {

namespace {

Flag preset_flag() {
  std::vector<std::string> names;
  for (const auto& [name, summary] : presets()) {
    names.push_back(name);
  }
  return {.name = "preset",
          .value = "NAME",
          .summary = "how pictures are prepared, as 'inputs.*.preset' of the configuration",
          .choices = std::move(names)};
}

}  // namespace

std::vector<Flag> config_flags() {
  return {{.name = "config",
           .value = "FILE",
           .summary = "configuration: YAML, see 'tare help config'"},
          {.name = "target",
           .value = "NAME",
           .summary = "target engine (overrides the configuration)",
           .choices = target_names(),
           .or_file = true},
          {.name = "set",
           .value = "KEY=VALUE",
           .summary = "one key of the configuration, such as activations.calibrator=percentile",
           .repeated = true},
          {.name = "plugin",
           .value = "FILE",
           .summary = "shared object with calibrators, metrics, patterns or rules of your own",
           .repeated = true},
          {.name = "allow-plugins", .summary = "let the configuration file load plug-ins"},
          preset_flag()};
}

std::vector<Flag> input_flags() {
  return {{.name = "config",
           .value = "FILE",
           .summary = "configuration: YAML, of which 'inputs' matters here"},
          {.name = "set",
           .value = "KEY=VALUE",
           .summary = "one key of the configuration, such as inputs.x.mean=0.5",
           .repeated = true},
          preset_flag()};
}

std::vector<Flag> calibrating_flags() {
  std::vector<Flag> flags = config_flags();
  append(flags, {threads_flag(), samples_flag(), effort_flag(), memory_flag()});
  return flags;
}

std::vector<std::filesystem::path> plugins_of(const Options& options) {
  const std::string config = options.text("config");
  const std::vector<std::string>& overrides = options.all("set");
  if (!options.has("allow-plugins")) {
    refuse_plugins_of_file(config, overrides);
  }
  std::vector<std::filesystem::path> plugins = read_plugins(config, overrides);
  const std::vector<std::string>& own = options.all("plugin");
  plugins.insert(plugins.end(), own.begin(), own.end());
  return plugins;
}

Configuration read_configuration(const Options& options) {
  Toolkit toolkit = Toolkit::builtin();
  load_plugins(plugins_of(options), toolkit);
  Config config =
      read_config(options.text("config"), options.all("set"), toolkit.calibrator_names());
  check_calibrators(config, toolkit.calibrators);
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
  if (options.has("preset")) {
    config.inputs["*"].preset = options.text("preset");
    for (auto& [name, preparation] : config.inputs) {
      preparation.preset = options.text("preset");
    }
  }
  if (options.has("memory")) {
    config.memory = *parse_bytes(options.text("memory"));
  }
  set_memory_limit(std::max(config.memory, memory_limit()));
  return {std::move(config), std::move(toolkit)};
}

std::string target_of(const Options& options) {
  return options.has("target") ? options.text("target")
                               : read_target_name(options.text("config"), options.all("set"));
}

void add_configuration(const Options& options, CommandFiles& files) {
  files.reads(options.text("config"));
  for (const std::filesystem::path& file : target_files(target_of(options))) {
    files.reads(file);
  }
  for (const std::filesystem::path& plugin : plugins_of(options)) {
    files.reads(plugin);
  }
}

}  // namespace tare::cli
