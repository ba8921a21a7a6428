#pragma once

#include "tare/node.h"

namespace tare {

// Parameters of values of some shape as operands of QuantizeLinear and DequantizeLinear:
// numbers, rows of one number for each channel, or with blocks tensors of the values' rank.

Tensor scale_operand(const QuantParams&, const Shape& values);
/// In the storage type.
Tensor zero_point_operand(const QuantParams&, const Shape& values);
/// `axis`, where they are no single numbers, and `block_size`.
Attributes axis_attributes(const QuantParams&);

}  // namespace tare
