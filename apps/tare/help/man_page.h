#pragma once

#include "verb.h"

#include <string>
#include <vector>

namespace tare::cli {

/// tare(1), in the language of man(7).
std::string man_page(const std::vector<NamedVerb>&);

}  // namespace tare::cli
