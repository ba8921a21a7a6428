#pragma once

#include "tare/node.h"
#include "tare/quant_table.h"

namespace tare {

/// The dynamic products whose weights the table enables become DynamicQuantizeLinear,
/// MatMulInteger or ConvInteger, and what scales their sums.
void expand_dynamic_products(Graph&, const SimulatedGraph&, const QuantTable&);

/// Sums of products of dequantized 8-bit values become sums of products of storage values, in
/// the node's accumulators at the product of both scales; a constant bias is rounded to that
/// scale. A sum stays as it is where its bias does not fit int32, or scales vary along what is
/// summed over. A dequantized constant of the same scale that is added after it joins the sum.
void accumulate_products(Graph&, const NetworkArithmetic&);

/// Moves Quantize up and Dequantize down through operators of the affine allow-list until
/// nothing moves any more; those operators then run on storage values.
void expand_affine_regions(Graph&);

/// One form for equal computations on storage values, whatever the operators were that they
/// came from: products of plain matrices, bounds and pads on the grid of the values.
void spell_one_way(Graph&);

/// Adjacent Dequantize and Quantize become Requantize, in the mode of the node whose sum they
/// convert or else the usual one, or vanish when their parameters are equal. Equal Quantize
/// nodes on one value become one. Relu and Clip that storage already saturates at vanish.
void fold_conversions(Graph&, const NetworkArithmetic&);

}  // namespace tare
