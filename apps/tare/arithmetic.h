#pragma once

#include "tare/graph.h"

#include "flags.h"

namespace tare::cli {

/// Whose integer arithmetic a quantized model runs with.
Flag numerics_flag();
/// The model made ready to run: as it is, or as its integer graph with the numerics that the
/// options name. Throws Error(kInvalidConfig) when they name one for a float model.
Graph runnable(Graph model, const Options&);

}  // namespace tare::cli
