#pragma once

#include "fuzz/drawing.h"

#include <optional>

namespace tare::fuzz {

/// A layer on values [batch, length, channels]: recurrent ones, attention, convolutions along
/// the sequence, normalization, means. Nothing where the value is none of these.
std::optional<ValueId> sequence_layer(Drawing&, ValueId);

}  // namespace tare::fuzz
