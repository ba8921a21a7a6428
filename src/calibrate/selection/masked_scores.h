#pragma once

#include "tare/quant_table.h"

#include <optional>

namespace tare {

/// Of a point that only Softmax reads and to which a mask was added, or written by a Where: a
/// number so far below all scores that are not masked that what lies there gets no probability
/// which the storage type could hold. Saturating there tells -10,000 from none as well, and
/// leaves the steps to the scores. Nothing for other points, and where `decided` does not have
/// those of the operands.
std::optional<double> lowest_score(const SimulatedGraph&, const QuantPoint&,
                                   const QuantTable& decided);

}  // namespace tare
