#pragma once

#include "tare/config.h"
#include "tare/graph.h"

#include <optional>

namespace tare {

/// How much slower a network may be for the sake of accuracy, before costs of a processor allow
/// more: as slowdown_of() says, and at least 15 % for a detector, whose boxes show every error.
/// `saved` as there.
double usual_slowdown(const Config&, const Target&, const Graph& prepared,
                      std::optional<double> saved = {});

}  // namespace tare
