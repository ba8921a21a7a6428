#pragma once

#include "tare/quant_table.h"

#include "console.h"
#include "text.h"

#include <vector>

namespace tare::cli {

/// Says one line for each, at most ten of a kind.
void say_warnings(std::vector<Warning>, const Console&);
Json warnings_json(const std::vector<Warning>&);

}  // namespace tare::cli
