#pragma once

#include "tare/execute.h"

#include <filesystem>
#include <string>

namespace tare {

/// `folder`, or where that is empty $XDG_CACHE_HOME/tare or ~/.cache/tare, made if it is not
/// there. Empty where there is no home.
std::filesystem::path cache_folder(std::filesystem::path folder);

/// Times of an engine hold for that version, on that processor, with so many threads.
std::string identity(const EngineFacts&);

}  // namespace tare
