#pragma once

#include "tare/pattern.h"

namespace tare {

/// ConvInteger or MatMulInteger, perhaps with a bias, as real numbers still to be multiplied by
/// product_scale_pattern(). Captures for add_real_product().
Pattern integer_sum_pattern();
Pattern product_scale_pattern();

/// Adds the Conv, Gemm or MatMul of dequantized factors that the match computes with integers.
/// Absent when zero points, scales or bias are none of factors and channels.
ValueId add_real_product(Patch&, const Graph&, const Match&);

/// One product in place of those that add_real_product() added for several readers of one sum.
void unite_products(Graph&);

}  // namespace tare
