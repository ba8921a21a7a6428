#pragma once

#include "tare/graph.h"

#include "reconstruct/float_network.h"

#include <cstddef>
#include <span>

namespace tare {

/// Whether samples of these values can be mixed: all are real, and those of a value have one
/// shape.
bool can_mix(const RunValues&);

/// Appends `count` runs, each a random mixture of two of `parts`: `s a + (1 - s) b` with s from
/// [0,1] (Zhang, Cisse, Dauphin and Lopez-Paz, "mixup: Beyond Empirical Risk Minimization",
/// 2018; what is wanted of a mixture is what the float network gives for it).
void add_mixtures(RunValues&, std::span<const std::size_t> parts, std::size_t count);

}  // namespace tare
