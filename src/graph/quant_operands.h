#pragma once

#include "tare/graph.h"

namespace tare {

// Parameters as operands of QuantizeLinear and DequantizeLinear: numbers, or rows of one number
// for each channel.

Tensor scale_operand(const QuantParams&);
/// In the storage type.
Tensor zero_point_operand(const QuantParams&);
/// Their `axis`, where they are rows.
Attributes axis_attribute(const QuantParams&);

}  // namespace tare
