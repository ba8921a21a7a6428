#pragma once

#include "tare/quant_table.h"

#include <optional>

namespace tare {

/// Rows of a constant that are picked while the network runs, as embeddings are. Smaller as
/// integers whoever reads them, and what is read can be dequantized behind the Gather, so that
/// nothing else has to be on integers.
const QuantPattern& lookup_pattern();

/// What such a node may find: any row may be asked for, whatever the samples ask for. Absent
/// for other nodes.
std::optional<Range> looked_up_range(const Graph&, const Node&);

}  // namespace tare
