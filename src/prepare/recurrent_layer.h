#pragma once

#include "tare/pattern.h"

#include <cstddef>
#include <vector>

namespace tare {

/// Writes an LSTM, GRU or RNN of these operands in place of one, with as many results or more,
/// and returns them. Those that it adds are of the layout with the length in front.
std::vector<ValueId> replace_layer(Patch&, const Graph&, const Node& before,
                                   std::vector<ValueId> operands, std::size_t results);

}  // namespace tare
