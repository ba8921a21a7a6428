#pragma once

#include <string>

namespace tare::cli {

/// "tare 0.1.0", then a line for each library.
std::string version_text();

}  // namespace tare::cli
