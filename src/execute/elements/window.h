#pragma once

#include "execute/kernel.h"

#include <vector>

namespace tare {

/// Geometry of a sliding window (convolution, pooling), one entry per spatial axis. Steps and
/// gaps that lead nowhere are as small as they can be, whatever the attributes say, and no sum
/// of products of these numbers overflows.
struct Window {
  std::vector<std::int64_t> input;
  std::vector<std::int64_t> output;
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  std::vector<std::int64_t> pads_begin;
  std::vector<std::int64_t>
      pads_end;  ///< as the attributes say; the last window may reach further

  std::size_t axes() const { return kernel.size(); }
  /// Extent of the dilated kernel.
  std::int64_t reach(std::size_t axis) const {
    return (kernel[axis] - 1) * dilations[axis] + 1;
  }
};

/// Reads strides, dilations, pads, auto_pad and ceil_mode. Throws Error(kInvalidModel) when
/// they do not fit together or contradict the shape of the result.
Window make_window(const Attributes&, const Shape& input, const Shape& output,
                   std::vector<std::int64_t> kernel);

/// The window of the convolution that a ConvTranspose is the transpose of: its results are the
/// operand's elements, its input is the result. What the transpose cuts off is padding. Reads
/// output_padding and output_shape besides.
Window make_transposed_window(const Attributes&, const Shape& input, const Shape& output,
                              std::vector<std::int64_t> kernel);

/// Extents behind batch and channels.
std::vector<std::int64_t> spatial(const Shape&);

}  // namespace tare
