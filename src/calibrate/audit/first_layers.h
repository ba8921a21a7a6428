#pragma once

#include "tare/dataset.h"
#include "tare/node.h"

#include <optional>
#include <string>
#include <vector>

namespace tare {

/// Moments of the channels (axis 1) of a value over some samples.
struct ChannelMoments {
  std::vector<double> mean;
  std::vector<double> variance;
};

/// What a network makes of an input first: a batch norm with at most one product before it, or
/// where there is none, that product.
struct FirstLayer {
  std::string input;        ///< of the graph
  std::string node;         ///< the batch norm or product
  ChannelMoments observed;  ///< of what the batch norm reads, or the product computes
  std::optional<ChannelMoments> trained;  ///< what the batch norm saw in training
};

/// At most a few for each float input; none for what the data does not fit, and for results
/// without channels. Runs no more of the network than these need, on samples that are spread
/// over the data.
std::vector<FirstLayer> first_layers(const Graph& model, const Dataset&, int threads);

}  // namespace tare
