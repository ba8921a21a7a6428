#pragma once

#include "tare/libraries.h"

#include <vector>

namespace tare {

std::vector<Library> io_libraries();

}  // namespace tare
