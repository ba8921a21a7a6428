#pragma once

#include "tare/node.h"
#include "tare/quant_table.h"

#include <optional>

namespace tare {

/// Weights nearer to 0 than float's normal numbers: engines that count them take long.
std::optional<Warning> denormal_weights(const Graph&);

}  // namespace tare
