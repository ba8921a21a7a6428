#pragma once

#include "tare/arithmetic.h"
#include "tare/node.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tare {

// What attributes of a node say of its arithmetic; see tare/arithmetic.h.

/// Whether the attributes say what accumulator a node has.
bool states_accumulator(const Attributes&);
/// Throws Error(kInvalidModel) for other numbers of bits and other words.
Accumulator accumulator(const Attributes&);
/// Writes it into the attributes; the usual one by taking out what is there.
void set_accumulator(Attributes&, const Accumulator&);

/// Throws Error(kInvalidModel) for other words, and for pairs that do not go together.
RequantizeMode requantize_mode(const Attributes&);
Attributes to_attributes(const RequantizeMode&);

/// A Requantize in fixed point may state its factors, one for each scale of its operand, in the
/// attributes `significand` and `exponent`: engines derive them from other products of scales
/// than the type of accumulators holds. Empty where it does not. Throws Error(kInvalidModel)
/// for numbers that are no factors.
std::vector<FixedPointFactor> fixed_point_factors(const Attributes&);
void set_fixed_point_factors(Attributes&, const std::vector<FixedPointFactor>&);

/// What the attribute says; kOnnxRuntime where it is absent. Throws Error(kInvalidModel) for
/// other words.
Numerics numerics(const Attributes&);
/// Writes it into the attributes; kOnnxRuntime by taking out what is there.
void set_numerics(Attributes&, Numerics);

/// AveragePool on storage values may say in its attribute `tie_breaking_point` that it averages
/// them as the integers they are, between equal parameters, and that what lies halfway between
/// two integers becomes the one further from this tie-breaking point: 0 in TensorFlow Lite.
/// ONNX has a spelling for it, so exported files keep it. Nothing: averages of what storage
/// values stand for, rounded as the node's numerics say.
std::optional<std::int32_t> tie_breaking_point(const Attributes&);
void set_tie_breaking_point(Attributes&, std::optional<std::int32_t>);

}  // namespace tare
