#pragma once

#include "tare/config.h"

#include "flags.h"

#include <vector>

namespace tare::cli {

/// --config --target --set
std::vector<Flag> config_flags();
/// The configuration those flags, and --samples, describe.
Config read_configuration(const Options&);

}  // namespace tare::cli
