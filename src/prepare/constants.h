#pragma once

#include "tare/node.h"

#include <optional>
#include <span>
#include <vector>

namespace tare {

/// The only element of a float constant, or the one that all its elements equal.
std::optional<double> uniform_constant(const Graph&, ValueId);

/// Whether a float value is 0 everywhere whatever its shape is: a constant, or one that
/// operators made larger or moved.
bool is_zero(const Graph&, ValueId);

/// Whether `value` is within float rounding (four steps) of `wanted`.
bool is_near(double value, double wanted);
/// The same of what multiplies `result`; one step of 16 bits if the file computes it in these,
/// to which it has rounded the constants of a formula.
bool is_near(const Graph&, ValueId result, double value, double wanted);

/// The numbers of a float constant that broadcasts over `result` along nothing but `axis`; one
/// for each channel. Nothing when it varies otherwise, or would enlarge the result.
std::optional<std::vector<double>> per_channel(const Graph&, ValueId, const Shape& result,
                                               std::size_t axis);

/// A f32 tensor of these numbers, each rounded once; nothing when one of them is not finite.
std::optional<Tensor> rounded(const Shape&, std::span<const double> values);

}  // namespace tare
