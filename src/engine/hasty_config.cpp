#include "engine/hasty_config.h"

#include "tare/error.h"
#include "tare/process.h"

#include <filesystem>

namespace tare {

Config in_a_hurry(Config config) {
  config.effort = Effort::kFast;
  config.slowdown = 0;
  config.equalization = false;
  config.bias_correction = false;
  config.rounding = Rounding::kNearest;
  config.activations.calibrator = {.name = "max", .options = {}};
  return config;
}

std::string write_target_of_all(const TemporaryFiles& files, const std::string& target) {
  const std::string base =
      is_target_file(target) ? std::filesystem::absolute(target).string() : target;
  const std::filesystem::path path =
      files / (std::filesystem::path(target).stem().string() + ".yaml");
  write_text(path, "extends: " + yaml_scalar(base) + "\nleast_gain: 1e12\n");
  return path.string();
}

}  // namespace tare
