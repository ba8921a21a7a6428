#pragma once

#include "verb.h"

#include <string>
#include <vector>

namespace tare::cli {

std::string general_help(const std::vector<NamedVerb>&);
std::string verb_help(const NamedVerb&);
/// Every key of a configuration file.
std::string config_help();

}  // namespace tare::cli
