#pragma once

#include "tare/node.h"

#include <cstddef>
#include <vector>

namespace tare {

/// A constant whose elements along one axis belong to the channels of a value.
struct ChannelConstant {
  NodeId node;
  std::size_t operand = 0;
  std::size_t axis = 0;
};

/// A value whose channels (indices of its last axis) can be divided by any factors, since what
/// computes it takes these out of its constants and all that reads it into its weights.
struct SmoothQuantSite {
  ValueId value;
  std::vector<ValueId> moved;   ///< what has the same rows in other places
  std::vector<ValueId> inside;  ///< between the constants that are divided and `value`
  std::vector<ChannelConstant> divided;
  std::vector<ChannelConstant> weights;  ///< of the products that read it; multiplied

  std::size_t channels(const Graph&) const;
  std::vector<ValueId> values() const;  ///< all that are divided
};

/// Results of normalizations, of products with a row of constants and of layers, biases and
/// Relu in between, that nothing but layers with matrices of weights reads, or what moves whole
/// rows to these: in topological order. Matrices between which channels are axis 1 are left to
/// ChannelClasses.
std::vector<SmoothQuantSite> smoothquant_sites(const Graph&);

/// The largest magnitude among the weights that each channel is multiplied with.
std::vector<float> weight_magnitudes(const Graph&, const SmoothQuantSite&);

/// Divides the channels; the graph computes what it computed but for float rounding.
void apply_smoothquant(Graph&, const SmoothQuantSite&, const std::vector<float>& factors);

}  // namespace tare
