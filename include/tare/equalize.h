#pragma once

#include "tare/calibrator.h"
#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/graph.h"
#include "tare/simulate.h"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tare {

/// For results of layers with constant weights, by name: one positive factor for each channel
/// (index of axis 1), which the channel is divided by.
using ChannelFactors = std::map<std::string, std::vector<float>>;

/// Factors that spread the channels of a clean float graph over the range that their largest
/// neighbour needs, so that one scale for all is finer for most: cross-layer equalization
/// (Nagel et al., Data-Free Quantization Through Weight Equalization and Bias Correction, 2019)
/// with ranges of activations, seen on 32 samples (or one run), in place of those of
/// weights. They are in (0, 1]. None with fewer samples, or where the network, quantized and
/// tried on these samples, does not err clearly less with them. The result does not depend on
/// the number of threads. Throws Error(kInvalidData) when data and graph inputs do not fit
/// together.
ChannelFactors equalizing_factors(const Graph&, const Dataset&, const Config&, const Target&,
                                  std::span<const QuantPattern>,
                                  std::span<const CalibratorInfo>,
                                  const CalibrateOptions& = {});

/// The graph with channels divided by those factors: each layer's weights make up for those of
/// its operand, so results stay the same but for float rounding. Channels that meet elsewhere
/// than in such layers share a factor, and keep 1 where a node between would not hand it on.
/// Bounds of a Clip stay, so they may cut off what no sample reached. Names and channels that
/// cannot be scaled are passed over. Throws Error(kInvalidModel) for weights that are not for
/// the channels of their operand.
Graph equalize(Graph, const ChannelFactors&);

/// The factors as text for the metadata of a model, exact to the last bit; empty for none.
std::string text_of(const ChannelFactors&);
/// Throws Error(kInvalidModel) for text that is none of text_of(), and for factors that are not
/// above 0 and finite.
ChannelFactors channel_factors(std::string_view text);

}  // namespace tare
