#pragma once

#include "tare/process.h"

#include <vector>

namespace tare {

std::vector<Library> onnx_libraries();

}  // namespace tare
