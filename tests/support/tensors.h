#pragma once

#include "tare/tensor.h"

namespace tare::test {

Tensor ones(Shape);

/// Values of a normal distribution; others with another standard library.
Tensor normal_tensor(Shape, unsigned seed, float mean = 0, float deviation = 1);

}  // namespace tare::test
