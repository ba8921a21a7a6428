#pragma once

#include "tare/node.h"

namespace tare {

/// A graph of QuantizeLinear in which those of quantize_channels_last() convert images as they
/// are.
Graph read_channels_last(Graph);

}  // namespace tare
