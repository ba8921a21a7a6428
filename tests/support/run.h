#pragma once

#include "tare/dataset.h"
#include "tare/graph.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace tare::test {

/// One sample, in the types of the graph's inputs.
std::vector<Tensor> inputs_of(const Graph&, const Dataset&, std::size_t sample);

/// By sample, then by output.
using Results = std::vector<std::vector<Tensor>>;
/// Of the first samples; 0 means all. One after the other, by a single thread.
Results results_of(const Graph&, const Dataset&, std::size_t samples = 0);

/// All values but constants, as they are stored, by name.
std::map<std::string, Tensor> values_of(const Graph&, const std::vector<Tensor>& inputs,
                                        bool precise = false);

}  // namespace tare::test
