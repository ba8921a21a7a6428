#pragma once

#include "tare/node.h"

#include <cstdint>
#include <optional>

namespace tare {

// An AveragePool whose halves go away from an integer `centre`, spelled with QuantizeLinear and
// DequantizeLinear. Storage values less `centre` are numbers that float32 adds up without
// error; dividing the average by a little less than 1 moves it away from `centre`, by more than
// float32 rounds and less than the average of a window can be from the half before the next
// one. As both are conversions, engines that average storage values go on doing so.

/// Whether it is an AveragePool that TensorFlow Lite runs: between equal parameters of 8 bits,
/// without counting what is put around.
bool may_average_integers(const Graph&, const Node&);
/// With halves away from 0, or from what became of it where storage values moved.
void average_integers(Graph&, NodeId);

/// What the node's halves go away from, where that can be spelled: its windows are not huge.
std::optional<std::int32_t> spelled_centre(const Node&);
/// Parameters under which storage values stand for themselves less `centre`.
QuantParams as_integers(DType storage, std::int32_t centre);
/// Those of their averages.
QuantParams as_averages(DType storage, std::int32_t centre);

/// A graph of QuantizeLinear and DequantizeLinear where an AveragePool between these is one of
/// storage values that says `tie_breaking_point`.
Graph read_integer_averages(Graph);

}  // namespace tare
