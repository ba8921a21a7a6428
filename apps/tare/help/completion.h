#pragma once

#include "verb.h"

#include <string>
#include <vector>

namespace tare::cli {

/// The shells that completion_script() knows.
std::vector<std::string> completing_shells();

/// What makes `shell` complete verbs, options, their choices and names of files.
std::string completion_script(const std::string& shell, const std::vector<NamedVerb>&);

}  // namespace tare::cli
