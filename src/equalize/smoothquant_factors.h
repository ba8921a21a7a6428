#pragma once

#include "equalize/smoothquant_sites.h"
#include "equalize/version_trial.h"

#include <span>
#include <vector>

namespace tare {

/// For each channel j of an activation the factor max|X_j|^a / max|W_j|^(1-a), a = 1/2, at
/// which it and its weights have equal magnitudes (Xiao et al., SmoothQuant, 2023); 1 where one
/// of them is 0.
std::vector<float> smoothquant_factors(std::span<const float> activation_magnitudes,
                                       std::span<const float> weight_magnitudes);

/// Such factors for the sites of the graph whose values are quantized and have outliers; none
/// where they do not help clearly. `observed`, which may be null, has what all samples of the
/// trial show of the graph; of none where that is not known, which it then becomes if needed.
ChannelFactors find_smoothquant_factors(const VersionTrial&, Statistics* observed);

}  // namespace tare
