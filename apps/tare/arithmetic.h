#pragma once

#include "tare/graph.h"
#include "tare/numerics.h"

#include "flags.h"

#include <optional>

namespace tare::cli {

/// Whose integer arithmetic a quantized model runs with.
Flag numerics_flag();
/// What the options say; absent when they say nothing. Throws Error(kInvalidConfig) when the
/// model is no quantized one.
std::optional<Numerics> chosen_numerics(const Graph& model, const Options&);
/// The model made ready to run: as it is, or as its integer graph with those numerics.
Graph runnable(Graph model, const Options&);

}  // namespace tare::cli
