#pragma once

#include "tare/libraries.h"

#include <vector>

namespace tare {

std::vector<Library> tflite_libraries();

}  // namespace tare
