#pragma once

#include "tare/config.h"

#include "engine/temporary_files.h"

#include <string>

namespace tare {

/// With the cheapest way to parameters, for files that are timed and nothing else.
Config in_a_hurry(Config);

/// Writes a target that changes `target` so that everything is worth being on integers; its
/// path. It has the same name, which reports show.
std::string write_target_of_all(const TemporaryFiles&, const std::string& target);

}  // namespace tare
