#pragma once

#include "verb.h"

#include <string>
#include <vector>

namespace tare::cli {

/// `tare help --json`: verbs with their arguments and options, and the keys of the
/// configuration, for editors and other programs.
std::string help_json(const std::vector<NamedVerb>&);

}  // namespace tare::cli
