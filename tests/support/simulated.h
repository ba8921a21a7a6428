#pragma once

#include "tare/config.h"
#include "tare/simulate.h"

namespace tare::test {

/// For the target that the configuration names, with all patterns.
SimulatedGraph simulated_with(const Graph&, const Config& = {});

}  // namespace tare::test
