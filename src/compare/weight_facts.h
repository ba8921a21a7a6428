#pragma once

#include "tare/node.h"
#include "tare/report.h"

#include <optional>

namespace tare {

/// The constant second factor of a product of the float graph, as one of the integer graph has
/// it, which may be transposed; nothing when it is computed or of another shape.
std::optional<Tensor> exact_weights(const Graph& prepared, const Node& real,
                                    const Graph& integer, const Node& quantized);

/// What became of it. Nothing where one of both is computed.
std::optional<WeightReport> weight_facts(const Graph& prepared, const Node& real,
                                         const Graph& integer, const Node& quantized);

/// Channels of the weight whose scale was widened for a bias that would not fit int32.
std::size_t count_widened(const WeightReport&, const Graph& integer, const Node& quantized);

/// Bits between the largest bias of a product and the largest int32; nothing without a bias.
std::optional<double> bias_margin(const Graph& integer, const Node& quantized);

}  // namespace tare
