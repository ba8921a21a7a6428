#pragma once

#include "tare/pattern.h"

#include <span>
#include <variant>

namespace tare {

/// A Conv, ConvTranspose, Gemm or MatMul that nothing but its reader reads: what a scale or
/// shift of its channels can be folded into.
Pattern linear_layer();

/// The axis of a linear layer's result along which the channels lie.
std::size_t channel_axis(const Graph&, const Node& layer);

/// scale[c] * layer(x) + shift[c] as one layer that stands in for `result`. An empty span
/// stands for ones or zeros. Weights and bias are computed in double and rounded once. Refuses
/// when they are not constant, or do not stay finite.
std::variant<Patch, Refusal> folded_into(const Graph&, const Node& layer,
                                         std::span<const double> scale,
                                         std::span<const double> shift, ValueId result);

}  // namespace tare
