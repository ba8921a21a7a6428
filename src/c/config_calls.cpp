// The functions tare_config_*, and what a configuration is when it is used.
#include "tare/error.h"
#include "tare/process.h"

#include "c/callbacks.h"
#include "c/guard.h"
#include "c/handles.h"
#include "io/read_config.h"

#include <algorithm>
#include <utility>

namespace tare::c {
namespace {

Config read(const tare_config& given) {
  const std::vector<std::string> calibrators = given.toolkit.calibrator_names();
  return given.text.empty()
             ? read_config(given.file, given.overrides, calibrators)
             : read_config_text(given.text, "configuration", given.overrides, calibrators);
}

template <class Info>
void require_new(const std::vector<Info>& known, const char* kind, const std::string& name) {
  if (name.empty()) {
    throw Error(ErrorCode::kInvalidConfig, kind, "has no name");
  }
  if (std::any_of(known.begin(), known.end(),
                  [&](const Info& info) { return info.name == name; })) {
    throw Error(ErrorCode::kInvalidConfig, kind, "the name '" + name + "' is taken");
  }
}

}  // namespace

std::shared_ptr<const ReadConfig> settings_of(const tare_config* given) {
  auto settings = std::make_shared<ReadConfig>();
  if (given == nullptr) {
    settings->toolkit = Toolkit::builtin();
    return settings;
  }
  settings->names = given->names;
  settings->toolkit = given->toolkit;
  settings->config = read(*given);
  if (!settings->config.plugins.empty()) {
    throw Error(ErrorCode::kInvalidConfig, "plugins", "are not loaded by the library")
        .expected("calibrators and metrics as functions, or the program 'tare'");
  }
  check_calibrators(settings->config, settings->toolkit.calibrators);
  set_memory_limit(std::max(settings->config.memory, memory_limit()));
  return settings;
}

extern "C" {

tare_error* tare_config_new(tare_config** config) {
  return guarded([&] {
    require(config, "config");
    auto made = std::make_unique<tare_config>();
    made->names = std::make_shared<Names>();
    made->toolkit = Toolkit::builtin();
    *config = made.release();
  });
}

tare_error* tare_config_read(tare_config* config, const char* path) {
  return guarded([&] {
    require(config, "config");
    require(path, "path");
    config->file = path;
    config->text.clear();
  });
}

tare_error* tare_config_read_text(tare_config* config, const char* yaml) {
  return guarded([&] {
    require(config, "config");
    require(yaml, "yaml");
    config->text = yaml;
    config->file.clear();
  });
}

tare_error* tare_config_set(tare_config* config, const char* setting) {
  return guarded([&] {
    require(config, "config");
    require(setting, "setting");
    config->overrides.emplace_back(setting);
  });
}

tare_error* tare_config_check(const tare_config* config) {
  return guarded(
      [&] { (void)target_of(settings_of(config)->config, settings_of(config)->toolkit); });
}

tare_error* tare_config_add_calibrator(tare_config* config, const tare_calibrator* calibrator) {
  return guarded([&] {
    require(config, "config");
    require(calibrator, "calibrator");
    require(calibrator->name, "name");
    require(reinterpret_cast<const void*>(calibrator->choose), "choose");
    require_new(config->toolkit.calibrators, "calibrator", calibrator->name);
    config->toolkit.calibrators.push_back(
        calibrator_of(*calibrator, config->names->emplace_back(calibrator->name)));
  });
}

tare_error* tare_config_add_metric(tare_config* config, const tare_metric* metric) {
  return guarded([&] {
    require(config, "config");
    require(metric, "metric");
    require(metric->name, "name");
    require(reinterpret_cast<const void*>(metric->of_sample), "of_sample");
    require_new(config->toolkit.metrics, "metric", metric->name);
    config->toolkit.metrics.push_back(
        metric_of(*metric, config->names->emplace_back(metric->name)));
  });
}

void tare_config_free(tare_config* config) {
  delete config;
}

}  // extern "C"

}  // namespace tare::c
