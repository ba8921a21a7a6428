#pragma once

#include "tare/calibrator.h"
#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/node.h"
#include "tare/quant_table.h"
#include "tare/statistics.h"
#include "tare/tensor.h"

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace tare {

/// Factors that equalize the channel ranges of a clean float graph, so that one scale for all
/// is finer for most: cross-layer equalization (Nagel et al., Data-Free Quantization Through
/// Weight Equalization and Bias Correction, 2019) with ranges of activations, observed on 32
/// samples (or one run): a channel that needs the part r of its value's range is divided by
/// r^(3/4), or by (r/w)^(1/2) where its weights share scales with those of other channels and
/// need the part w of these. Then those of SmoothQuant, for rows that matrices multiply,
/// max|X|^(1/2) / max|W|^(1/2) for each channel (Xiao et al., SmoothQuant: Accurate and
/// Efficient Post-Training Quantization for Large Language Models, 2023). And those of AWQ, for
/// rows that weights in blocks multiply, see find_awq_factors(). None of a kind where the
/// network, quantized and tried on up to 32 other samples, does not err clearly less with them,
/// or where there are not 16 of these. The result does not depend on the number of threads.
/// Throws Error(kInvalidData) when data and graph inputs do not fit together. Where the network
/// was observed on all of these samples as it is, `observed` gets what collect() would find of
/// them.
ChannelFactors equalization_factors(const Graph&, const Dataset&, const Config&, const Target&,
                                    std::span<const QuantPattern>,
                                    std::span<const CalibratorInfo>,
                                    const CalibrateOptions& = {},
                                    Statistics* observed = nullptr);

/// The graph with channels divided by those factors: each layer's weights make up for those of
/// its operand, so results stay the same but for float rounding. Channels that meet elsewhere
/// than in such layers share a factor, and keep 1 where a node between would not hand it on, as
/// a Clip with bounds other than 0 would not. Names and channels that cannot be scaled are
/// passed over. Throws Error(kInvalidModel) for weights that are not for
/// the channels of their operand. Weights are scaled by so many threads, 0 for one per core.
Graph equalize(Graph, const ChannelFactors&, int threads = 1);

/// By name: what equalize() divides values by, in a shape that broadcasts against them.
std::map<std::string, Tensor> divisors(const Graph&, const ChannelFactors&);

/// How many factors a value of the graph can have.
std::size_t factor_count(const Graph&, ValueId);

/// The factors as text for the metadata of a model, exact to the last bit; empty for none.
std::string text_of(const ChannelFactors&);
/// Throws Error(kInvalidModel) for text that is none of text_of(), and for factors that are not
/// above 0 and finite.
ChannelFactors channel_factors(std::string_view text);

}  // namespace tare
