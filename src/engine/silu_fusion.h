#pragma once

#include "tare/config.h"
#include "tare/graph.h"

#include "engine/engine.h"

namespace tare {

struct Toolkit;

/// The configuration with Config::fuse_silu as it is faster in the engine, measured on the
/// float network; as the target has it where neither is faster for sure. As it is where it says
/// so itself, where the target has no use for it, or where the network has no x * Sigmoid(x).
Config with_faster_silu(Engine&, const Graph& model, const ModelInputs&, Config,
                        const Toolkit&);

}  // namespace tare
