#pragma once

#include "tare/quant_table.h"

#include "printing/console.h"
#include "text.h"

#include <vector>

namespace tare::cli {

/// Says one line for each kind: the first warning, and how many more there are. What changes
/// all results comes first.
void say_warnings(std::vector<Warning>, const Console&);
Json warnings_json(const std::vector<Warning>&);

}  // namespace tare::cli
