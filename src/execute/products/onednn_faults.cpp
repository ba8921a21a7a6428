// Bugs of oneDNN 2.6 that kernels have to get around, found by tests/kernels. Where a condition
// is wider than the bug, another implementation runs, which may be slower; where it is
// narrower, results are wrong. So they are as wide as what was seen to fail suggests.
#include "execute/products/onednn_faults.h"

namespace tare::onednn {

bool goes_wrong(std::string_view implementation, const SumEnding& ending) {
  // A tensor is added to all positions as if they were the first one, and with three spatial
  // axes so is a row of channels, by position in place of channel.
  const bool is_gemm = implementation.find("gemm:") != std::string_view::npos;
  if (is_gemm && (ending.adds_tensor || (ending.per_channel && ending.spatial_axes == 3))) {
    return true;
  }
  // Everywhere else a second Clip has the bounds of the first.
  if (ending.clips_again && !is_gemm) {
    return true;
  }
  // One position makes a row of channels and a tensor the same, whose values are then read from
  // the wrong place behind the first group or 16 channels: every global depthwise layer.
  const bool is_batch_reduced =
      implementation.starts_with("brgconv:") || implementation.starts_with("brdgmm");
  if (is_batch_reduced && ending.one_position && (ending.adds_tensor || ending.per_channel)) {
    return true;
  }
  // Code for bytes crashes where it adds a tensor.
  if (ending.adds_tensor && implementation.find("vnni") != std::string_view::npos) {
    return true;
  }
  // Results that lie in padding only are clipped by a table at no address, and so are those
  // read that belong to their channels.
  return implementation.starts_with("brgconv:") && ending.accumulates &&
         (ending.clips ||
          (ending.in_padding_only && (ending.per_channel || ending.adds_tensor)));
}

}  // namespace tare::onednn
