#pragma once

#include "tare/node.h"

namespace tare {

/// The float graph with its residual stream turned by a Hadamard matrix with random signs,
/// which spreads what a few channels have over all: tables of embeddings and matrices that add
/// to the stream are multiplied by it, those that read it by its transpose, and gains of root
/// mean square normalizations, which would be in between, are folded into these (Ashkboos et
/// al., "QuaRot: Outlier-Free 4-Bit Inference in Rotated LLMs", 2024). The graph computes what
/// it computed but for float rounding. Throws Error(kUnsupported) that names what else reads or
/// adds to the stream, or says that there is none.
Graph with_rotation(Graph);

}  // namespace tare
