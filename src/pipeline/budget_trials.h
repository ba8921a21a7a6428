#pragma once

#include "tare/config.h"
#include "tare/quantize.h"
#include "tare/search.h"

#include "pipeline/width_menu.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

namespace tare {

/// The limits that a budget sets for a network that takes so much with its widest weights.
NetworkCost limits_of(const Budget&, const NetworkCost& widest);

/// Of each layer, those widths of the menu that lose least within the limits, if the rest of
/// the network takes so much. The first and the last layer keep their widest weights, as they
/// do in papers, unless nothing fits then, or only what more than doubles the error. Nothing
/// where no widths fit.
std::optional<std::vector<LayerWidth>> widths_within(const WidthMenu&, const NetworkCost& limit,
                                                     const NetworkCost& rest);

/// A mix of widths, and the network that was quantized with it.
struct MixTrial {
  WidthMix mix;
  Config config;
  QuantizeResult result;
  std::size_t trials = 1;  ///< networks that were quantized on the way
};

/// Quantizes with the widths that lose least, and with fewer bits as long as the file is too
/// large after all. Throws Error(kInvalidConfig) where no widths fit, or there is nothing to
/// choose.
MixTrial try_widths(const WidthMenu&, const Budget&, const Config&, const Target&,
                    const std::filesystem::path& file,
                    const std::function<QuantizeResult(const Config&)>& quantize);

}  // namespace tare
