#pragma once

#include <string>

namespace tare {

/// Of this library: "0.1.0".
std::string version();

}  // namespace tare
