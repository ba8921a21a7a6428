#include "support/tensors.h"

#include <algorithm>
#include <random>
#include <utility>

namespace tare::test {

Tensor ones(Shape shape) {
  Tensor result(DType::kFloat32, std::move(shape));
  std::ranges::fill(result.mutable_view<float>(), 1.0F);
  return result;
}

Tensor normal_tensor(Shape shape, unsigned seed, float mean, float deviation) {
  Tensor result(DType::kFloat32, std::move(shape));
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(mean, deviation);
  for (float& x : result.mutable_view<float>()) {
    x = normal(random);
  }
  return result;
}

}  // namespace tare::test
