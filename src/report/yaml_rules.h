#pragma once

#include <string>
#include <vector>

namespace tare {

/// One entry of `layers:` for each name, in the lines of a configuration: what follows the
/// condition is `setting`, as "keep_float: true".
std::string layer_rules(const std::vector<std::string>& names, const std::string& setting);

}  // namespace tare
