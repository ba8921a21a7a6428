#pragma once

#include "tare/quant_table.h"

#include "printing/console.h"
#include "text.h"

#include <string>
#include <vector>

namespace tare::cli {

/// Says one line for each kind: the first warning, and how many more there are. What changes
/// all results comes first.
void say_warnings(std::vector<Warning>, const Console&);
/// Says all of them, in their order: for verbs whose JSON does not list them.
void say_each(const std::vector<Warning>&, const Console&);
/// Says which requirement does not hold.
void say_failure(const std::string& reason, const Console&);
Json warnings_json(const std::vector<Warning>&);

}  // namespace tare::cli
