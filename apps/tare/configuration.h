#pragma once

#include "tare/config.h"
#include "tare/toolkit.h"

#include "flags.h"
#include "outputs.h"

#include <filesystem>
#include <vector>

namespace tare::cli {

/// --config --target --set --plugin --allow-plugins
std::vector<Flag> config_flags();
/// --config and --set, for verbs to which nothing matters but how samples are prepared, and
/// --preset.
std::vector<Flag> input_flags();
/// These and all else that says how a model is calibrated: --threads --samples --effort
/// --memory
std::vector<Flag> calibrating_flags();
/// What those flags describe, as far as a verb has them, and the built-in toolkit with its
/// plug-ins.
struct Configuration {
  Config config;
  Toolkit toolkit;
};
Configuration read_configuration(const Options&);
/// The files that these flags name: the configuration and its plug-ins.
void add_configuration(const Options&, CommandFiles&);
/// The plug-ins in that toolkit.
std::vector<std::filesystem::path> plugins_of(const Options&);

}  // namespace tare::cli
