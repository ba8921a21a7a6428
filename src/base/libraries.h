#pragma once

#include "tare/libraries.h"

#include <vector>

namespace tare {

std::vector<Library> base_libraries();

}  // namespace tare
