#pragma once

#include "execute/kernel.h"

#include <memory>
#include <optional>
#include <vector>

#include <dnnl.hpp>

namespace tare::onednn {

/// y = post_ops(convolution(x, w) + b); with a window of one position this is a matrix product.
/// Activations are channels-last, extents are in the order N C spatial.
struct Convolution {
  dnnl::memory::dims source;
  dnnl::memory::dims result;
  /// As the operand or constant holds them; extents (G) O I spatial, G when there are groups.
  dnnl::memory::dims weights;
  dnnl::memory::dims weight_strides;
  dnnl::memory::dims strides;
  dnnl::memory::dims dilations;  ///< 1: none
  dnnl::memory::dims pads_begin;
  dnnl::memory::dims pads_end;
  std::optional<Tensor> constant_weights;  ///< absent: computed, operand 1
  std::optional<Tensor> constant_bias;     ///< [O]
  bool computed_bias = false;              ///< operand 2, [O]
  bool precise = false;                    ///< as ExecuteOptions::precise, where oneDNN can
  std::shared_ptr<Packing> packing{};      ///< of constants; null: at once
};

/// Null when oneDNN has no fast and right implementation with these post-ops.
std::unique_ptr<Kernel> make_convolution(const Convolution&, const std::vector<PostOp>&);

}  // namespace tare::onednn
