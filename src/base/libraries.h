#pragma once

#include "tare/process.h"

#include <vector>

namespace tare {

std::vector<Library> base_libraries();

}  // namespace tare
