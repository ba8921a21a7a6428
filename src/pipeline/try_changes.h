#pragma once

#include "tare/dataset.h"
#include "tare/node.h"
#include "tare/report.h"

#include "compare/changed_network.h"

namespace tare {

/// Tries what the diagnoses of a report propose, the most severe ones on the first samples,
/// each alone and on top of the others, and says what it gained. A proposal that gains nothing
/// either way is withdrawn, and comes last. `original` is the float network that results are
/// held against, with the inputs of the quantized one. Of the options, threads, samples and
/// processes count.
void try_changes(const Graph& original, const ChangeableNetwork&, const Dataset&,
                 const CompareOptions&, Report&);

}  // namespace tare
