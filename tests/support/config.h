#pragma once

#include "tare/config.h"

#include <string>
#include <vector>

namespace tare::test {

/// The default configuration with these keys set: "target=qnn".
Config config_with(const std::vector<std::string>& settings);

}  // namespace tare::test
