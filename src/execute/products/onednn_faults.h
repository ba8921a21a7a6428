#pragma once

#include <cstddef>
#include <string_view>

namespace tare::onednn {

/// What oneDNN shall do with a sum of products, as far as it goes wrong there.
struct SumEnding {
  std::size_t spatial_axes = 0;
  bool one_position = false;     ///< the result has one value for each channel
  bool in_padding_only = false;  ///< some result reads nothing but padding
  bool accumulates = false;      ///< adds to what the result held before
  bool per_channel = false;      ///< behind the sum: a bias or factors
  bool adds_tensor = false;      ///< behind the sum: a residual
  bool clips = false;            ///< Relu included
  bool clips_again = false;      ///< a second time by other bounds than 0 and infinity
};

/// Whether that implementation (as oneDNN calls it) of convolutions with float results is known
/// to give wrong results there, or to crash. All was found in oneDNN 2.6 by tests/kernels;
/// asking later versions for their next implementation costs little.
bool goes_wrong(std::string_view implementation, const SumEnding&);

}  // namespace tare::onednn
