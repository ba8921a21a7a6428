#pragma once

#include "tare/error.h"
#include "tare/node.h"

#include <string>

namespace tare {

/// The part of verify() that looks at one type: extents, size in memory, quantization
/// parameters.
void verify_type(const std::string& where, const TensorType&, Faults&);

}  // namespace tare
