#pragma once

#include "tare/process.h"

#include <vector>

namespace tare {

std::vector<Library> io_libraries();

}  // namespace tare
