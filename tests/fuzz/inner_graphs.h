#pragma once

#include "fuzz/drawing.h"

#include <optional>

namespace tare::fuzz {

/// An If, Loop or Scan that reads this value, among others; its graphs are drawn as networks
/// are. Nothing where the value does not fit.
std::optional<ValueId> inner_layer(Drawing&, ValueId);

}  // namespace tare::fuzz
