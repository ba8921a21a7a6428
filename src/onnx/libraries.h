#pragma once

#include "tare/libraries.h"

#include <vector>

namespace tare {

std::vector<Library> onnx_libraries();

}  // namespace tare
