#pragma once

#include "tare/calibrator.h"

namespace tare {

/// Parameters of a constant, chosen from its own values (one summary per channel where per
/// axis).
PointResult choose_constant(const Tensor&, const QuantPoint&, const Calibrator&,
                            int pair_limit);

/// Widens weight scales until every |q[2i] + q[2i+1]| <= limit, with the weights of each output
/// in the order in which x86 integer kernels multiply them: for a Conv by kernel position, then
/// input channel; for Gemm and MatMul along the reduced axis. Kernels without VNNI add such
/// pairs in int16, where 255 * 128 still fits. Depthwise convolutions are computed otherwise
/// and need no limit. Returns the channels whose scale changed.
std::vector<int> limit_pairs(const Tensor&, const QuantPoint&, int limit, QuantParams&);

/// Widens the weight scale of every channel whose bias would not fit int32 at input scale *
/// weight scale. Returns those channels.
std::vector<int> fit_bias(const Tensor& bias, float input_scale, QuantParams& weight);

}  // namespace tare
