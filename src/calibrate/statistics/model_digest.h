#pragma once

#include "tare/statistics.h"

#include <cstdint>

namespace tare {

/// Throws Error(kInvalidData) unless the statistics are of the model with that digest.
void require_model(std::uint64_t digest, const Statistics&);

}  // namespace tare
