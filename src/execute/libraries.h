#pragma once

#include "tare/libraries.h"

#include <vector>

namespace tare {

std::vector<Library> execute_libraries();

}  // namespace tare
