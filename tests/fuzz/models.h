#pragma once

#include "tare/dataset.h"
#include "tare/graph.h"

#include <cstdint>

namespace tare::fuzz {

/// Models of no more elements are run as well.
constexpr std::int64_t kFew = 100'000;

/// Elements of all values; kFew + 1 where there are more.
std::int64_t elements(const Graph&);
/// Makes the graph ready to run, and runs it on zeros.
void run_once(const Graph&);

/// A network of a few operators, all of which the default target may run on integers.
const Graph& small_network();
/// Samples for it.
const Dataset& small_samples();

}  // namespace tare::fuzz
