#pragma once

#include "tare/node.h"
#include "tare/tensor.h"

#include <optional>

namespace tare {

/// Shape or Size.
bool reads_shape_only(const Node&);

/// The result of a Shape or Size node for an operand of that shape; nothing for other nodes.
std::optional<Tensor> fact_of_shape(const Node&, const Shape&);

}  // namespace tare
