#pragma once

#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/node.h"
#include "tare/search.h"
#include "tare/statistics.h"

#include "search/sensitivities.h"
#include "search/width_choice.h"

#include <filesystem>
#include <string>
#include <vector>

namespace tare {

/// A layer with constant weights, and the widths that these may have.
struct WeightedLayer {
  std::vector<std::string> nodes;      ///< more than one share weights
  std::vector<std::string> points;     ///< of their weights
  bool is_given = false;               ///< the configuration says how many bits they have
  std::vector<WidthOption> options{};  ///< the widest first; one where it is given
};

/// What a search for a mix of widths chooses from.
struct WidthMenu {
  std::vector<WeightedLayer> layers;  ///< in the order of the network
  std::vector<int> bits;              ///< the most first
  std::vector<NetworkCost> uniform;   ///< of the network with so many bits wherever it may
  Sensitivities measured;             ///< of all widths, to go on from
};

/// Measures for each width what the weights of all layers of that width take and what those of
/// each layer cause alone: sensitivities() and the size of a file, with parameters of a pass
/// of the float network. No network is calibrated. `file` is the path that it will have.
WidthMenu width_menu(const Graph& model, const Dataset&, const Config&, const Toolkit&,
                     const CalibrateOptions&, const MeasuredSensitivities&,
                     const std::filesystem::path& file);

/// Of a network that was quantized, in a file of that path.
NetworkCost cost_of(const QuantizeResult&, const std::filesystem::path& file);

/// The configuration with these widths of the layers that it does not give one itself.
Config apply_widths(Config, const std::vector<LayerWidth>&);

}  // namespace tare
