#pragma once

#include "tare/pipeline.h"

#include "flags.h"

#include <vector>

namespace tare::cli {

/// --config --target --set
std::vector<Flag> config_flags();
/// What those flags, and --samples, describe, and the built-in toolkit with its plug-ins.
struct Configuration {
  Config config;
  Toolkit toolkit;
};
Configuration read_configuration(const Options&);

}  // namespace tare::cli
