#pragma once

#include "fuzz/drawing.h"

#include <optional>

namespace tare::fuzz {

/// Layers that are not in every network: gates, normalizations, reductions, what splits,
/// gathers and rearranges. Nothing where the value does not fit.
std::optional<ValueId> other_layer(Drawing&, ValueId);

}  // namespace tare::fuzz
