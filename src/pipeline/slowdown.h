#pragma once

#include "tare/config.h"
#include "tare/graph.h"

#include <optional>

namespace tare {

/// How much slower accuracy may make a network, whatever it is worth: as slowdown_of() says,
/// and at least 15 % for a detector, whose boxes show every error. `saved` as there.
double usual_slowdown(const Config&, const Target&, const Graph& prepared,
                      std::optional<double> saved = {});

}  // namespace tare
