#pragma once

#include "execute/products/convolution.h"

#include <optional>

namespace tare::onednn {

/// The convolution that a float Conv is, or a Gemm or MatMul with constant weights; of its
/// post-ops it knows nothing. Nothing for other operators and where oneDNN could not count the
/// steps. Throws Error(kInvalidModel) where shapes do not fit together.
std::optional<Convolution> layer_convolution(const KernelRequest&);

/// The Conv of these attributes between float operands and a result of these shapes, without
/// its constants; nothing for strides, dilations and pads beyond what oneDNN counts. Throws
/// Error(kInvalidModel) where they do not fit together.
std::optional<Convolution> convolution_between(const Attributes&, const Shape& input,
                                               const Shape& weights, const Operand& result);

}  // namespace tare::onednn
