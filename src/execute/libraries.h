#pragma once

#include "tare/process.h"

#include <vector>

namespace tare {

std::vector<Library> execute_libraries();

}  // namespace tare
