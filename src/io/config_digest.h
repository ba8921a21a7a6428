#pragma once

#include "tare/config.h"

#include <cstdint>

namespace tare {

/// Names a configuration: equal for equal ones, whatever the file looked like.
std::uint64_t config_digest(Config);

}  // namespace tare
