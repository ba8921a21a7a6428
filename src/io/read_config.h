#pragma once

#include "tare/config.h"

#include <string>
#include <vector>

namespace tare {

/// read_config() of a text, which errors call `name`, in place of a file.
Config read_config_text(const std::string& yaml, const std::string& name,
                        const std::vector<std::string>& overrides,
                        const std::vector<std::string>& calibrators);

}  // namespace tare
