#pragma once

#include "fuzz/target.h"

#include <cstdint>

namespace tare::fuzz {

/// An ONNX model with one to four changes that leave it a model: other attributes, shapes,
/// types and numbers, nodes removed, doubled, renamed or wired elsewhere. The same bytes when
/// they are none.
File mutate_model(Bytes, std::uint32_t seed);

}  // namespace tare::fuzz
