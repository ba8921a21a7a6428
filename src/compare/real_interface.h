#pragma once

#include "tare/node.h"

namespace tare {

/// The integer graph with inputs named as those of the float graph, and with real inputs and
/// outputs where it has storage values instead, as files do whose model runs on integers
/// throughout. Inputs are told apart by name, or by their order where names say nothing.
Graph with_interface_of(const Graph& real, Graph integer);

}  // namespace tare
