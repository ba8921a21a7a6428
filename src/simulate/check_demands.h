#pragma once

#include "tare/config.h"
#include "tare/quant_table.h"

namespace tare {

/// Throws Error(kInvalidConfig) with every entry that demands integers for operators of which
/// the target can run none on integers, and why.
void check_demands(const SimulatedGraph&, const Config&);

}  // namespace tare
