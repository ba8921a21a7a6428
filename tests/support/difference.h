#pragma once

#include "support/run.h"

#include <cstddef>
#include <span>

namespace tare::test {

/// Signal to quantization noise ratio of the other values against the exact ones, in dB.
double sqnr(std::span<const float> exact, std::span<const float> other);
/// Of all outputs on the first samples; 0 means all.
double sqnr(const Graph& exact, const Graph& other, const Dataset&, std::size_t samples = 0);

/// The largest difference of an output, as a share of the largest magnitude of that output.
double distance(const Results& a, const Results& b);

}  // namespace tare::test
