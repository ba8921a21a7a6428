#pragma once

#include "tare/process.h"

#include <vector>

namespace tare {

std::vector<Library> tflite_libraries();

}  // namespace tare
