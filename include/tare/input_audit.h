#pragma once

#include "tare/dataset.h"
#include "tare/graph.h"
#include "tare/quant_table.h"

#include <cstddef>
#include <vector>

namespace tare {

/// What looks as if samples were prepared in another way than those that the network was
/// trained on, in the order of the inputs; docs/warnings.md says by what. Of some samples that
/// are spread over the data. The model is as it was read: batch norms that preparing folds
/// remember what training saw. The data fits the model.
std::vector<Warning> audit_inputs(const Graph& model, const Dataset&, int threads = 0);

/// Too few samples to see the range of most values; nothing where there are enough, or where
/// none were used, as nothing has a range.
std::vector<Warning> audit_sample_count(std::size_t samples);

/// Whether a warning is one of audit_inputs().
bool is_about_inputs(const Warning&);

}  // namespace tare
