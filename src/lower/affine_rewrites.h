#pragma once

#include "tare/graph.h"
#include "tare/requantize.h"

namespace tare {

/// Moves Quantize up and Dequantize down through operators of the affine allow-list until
/// nothing moves any more; those operators then run on storage values.
void expand_affine_regions(Graph&);

/// Adjacent Dequantize and Quantize become Requantize of that mode, or vanish when their
/// parameters are equal. Equal Quantize nodes on one value become one. Relu and Clip that
/// storage already saturates at vanish.
void fold_conversions(Graph&, const RequantizeMode&);

}  // namespace tare
