#pragma once

#include "fuzz/target.h"

#include <cstdint>

namespace tare::fuzz {

/// An ONNX model with a few fields changed. The same bytes when they are none.
File change_model(Bytes, std::uint32_t seed);

}  // namespace tare::fuzz
