#pragma once

#include "tare/simulate.h"

namespace tare {

/// Any operator of the affine allow-list that has parameters of its own: with operands and
/// result quantized it runs on storage values. Those that keep parameters need no region.
const QuantPattern& affine_pattern();

}  // namespace tare
