#include "calibrate/statistics/denormals.h"

#include "tare/graph.h"

#include <algorithm>
#include <cmath>

namespace tare {

std::optional<Warning> denormal_weights(const Graph& graph) {
  std::int64_t denormal = 0;
  std::int64_t all = 0;
  for (const ValueId value : graph.values()) {
    const Tensor* constant = graph.constant(value);
    if (constant == nullptr || constant->dtype() != DType::kFloat32) {
      continue;
    }
    const auto elements = constant->view<float>();
    denormal += std::count_if(elements.begin(), elements.end(), [](float element) {
      return std::fpclassify(element) == FP_SUBNORMAL;
    });
    all += constant->size();
  }
  if (denormal == 0) {
    return std::nullopt;
  }
  return Warning{"denormal_weights", "weights",
                 std::to_string(denormal) + " of " + std::to_string(all) +
                     " are denormal, nearer to 0 than 1.2e-38: the float model is slow in "
                     "engines that do not flush them to 0"};
}

}  // namespace tare
