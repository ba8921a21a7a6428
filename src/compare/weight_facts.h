#pragma once

#include "tare/graph.h"
#include "tare/report.h"

#include <optional>

namespace tare {

/// What became of the weights of a product: `real` of the float graph, `integer` of the
/// quantized one. Nothing where either is computed, or one was transposed.
std::optional<WeightReport> weight_facts(const Graph& prepared, const Node& real,
                                         const Graph& integer, const Node& quantized);

/// Channels of the weight whose scale was widened for a bias that would not fit int32.
std::size_t count_widened(const WeightReport&, const Graph& integer, const Node& quantized);

/// Bits between the largest bias of a product and the largest int32; nothing without a bias.
std::optional<double> bias_margin(const Graph& integer, const Node& quantized);

}  // namespace tare
