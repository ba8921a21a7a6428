#pragma once

#include "tare/calibrator.h"

#include <functional>

namespace tare {

/// What a range costs: any number, or infinity for a range that is no candidate.
using RangeCost = std::function<double(const Range&)>;

/// Looks for the range of least cost that holds 0 and lies within the observed range and 0.
/// Starts with all of that; then both ends move inwards to one distance from zero; then, if
/// there are two sides and the storage is not symmetric, each end alone. An end takes
/// `steps_per_octave` places between a distance and its half, down to the width of a bin, and
/// finer places around the best of them. Of ranges that cost the same the first one, which is
/// the widest, stays. With 8 steps an end takes about 120 evaluations, with 32 about 370.
Range least_cost_range(const TensorStatistics& observed, const QuantSpec& spec,
                       int steps_per_octave, const RangeCost& cost);

}  // namespace tare
