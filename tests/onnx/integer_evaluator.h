#pragma once

#include "tare/graph.h"

#include <span>
#include <vector>

namespace tare::test {

/// Computes what exporters compute shapes with, on int64. Throws Error(kUnsupported) otherwise.
std::vector<Tensor> evaluate_integers(const Node&, std::span<const Tensor* const>,
                                      std::span<const TensorType>);

}  // namespace tare::test
