#pragma once

#include "tare/quant_table.h"

namespace tare {

/// Whether a warning is one of audit_inputs().
bool is_about_inputs(const Warning&);

}  // namespace tare
