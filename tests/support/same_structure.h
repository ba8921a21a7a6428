#pragma once

#include "tare/graph.h"

#include <string>

namespace tare::test {

/// Where two graphs differ first, seen from their outputs, in what they compute and with which
/// parameters; not in what things are called. Empty where they do not.
std::string structural_difference(const Graph& a, const Graph& b);

}  // namespace tare::test
