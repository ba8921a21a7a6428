#pragma once

#include "tare/integer_graph.h"

#include "printing/terminal.h"

#include <span>
#include <string>

namespace tare::cli {

/// "Conv 17, Add 4", of those on integers, by name of the operator.
std::string integer_operators_text(std::span<const Verdict>);

/// A line for each reason why operators are in float: how many, and the first of them.
std::string float_groups_text(std::span<const Verdict>, const Terminal&);

/// "float is faster: 14 us against 25 us and conversions"
std::string reason_text(const Verdict&);

}  // namespace tare::cli
