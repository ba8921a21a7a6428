#pragma once

#include "equalize/version_trial.h"

namespace tare {

/// For rows that nothing but weights in blocks multiplies: factors mean|X_j|^a, at which
/// channels that carry more have finer weights, with the a in {0, 0.1, ..., 1} of least error
/// of the products on the samples that are fitted to (Lin et al., "AWQ: Activation-aware Weight
/// Quantization for LLM Compression and Acceleration", 2023, equation 5). None for a value
/// where they do not help on the holdout samples.
ChannelFactors find_awq_factors(const VersionTrial&);

}  // namespace tare
