#pragma once

#include "execute/products/convolution.h"

#include <memory>

namespace tare::onednn {

/// The gradient of the source from that of the result (operand 0, channels last) and the
/// weights (operand 1, plain). Null when oneDNN has no implementation.
std::unique_ptr<Kernel> make_source_gradient(const Convolution&);
/// That of the weights, plain, from the source (operand 0) and the gradient of the result
/// (operand 1), both channels last.
std::unique_ptr<Kernel> make_weight_gradient(const Convolution&);

}  // namespace tare::onednn
