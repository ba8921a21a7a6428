#pragma once

#include "tare/graph.h"

#include "support/files/samples_in_memory.h"
#include "support/random/random.h"

#include <cstdint>
#include <vector>

namespace tare::test {

/// A graph of convolutions, normalizations, pools, residuals and elementwise operators over
/// [1,C,8,8] values with many branches; some results are unused.
Graph random_network(Random&, int nodes);

/// Of a graph with float inputs: one value each, or so many samples.
std::vector<Tensor> random_inputs(const Graph&, Random&);
SamplesInMemory random_samples(const Graph&, std::int64_t count, Random&);

}  // namespace tare::test
