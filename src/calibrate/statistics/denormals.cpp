#include "calibrate/statistics/denormals.h"

#include "tare/graph.h"

#include "graph/ir/replace_constant.h"

#include <algorithm>
#include <cmath>

namespace tare {
namespace {

bool is_denormal(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL;
}

}  // namespace

std::optional<Warning> denormal_weights(const Graph& graph) {
  std::int64_t denormal = 0;
  std::int64_t all = 0;
  for (const ValueId value : graph.values()) {
    const Tensor* constant = graph.constant(value);
    if (constant == nullptr || constant->dtype() != DType::kFloat32) {
      continue;
    }
    const auto elements = constant->view<float>();
    denormal += std::count_if(elements.begin(), elements.end(), is_denormal);
    all += constant->size();
  }
  if (denormal == 0) {
    return std::nullopt;
  }
  return Warning{"denormal_weights", "weights",
                 std::to_string(denormal) + " of " + std::to_string(all) +
                     " are denormal, nearer to 0 than 1.2e-38: the float model is slower "
                     "than predicted in engines that do not flush them to 0"};
}

Graph without_denormal_weights(Graph graph) {
  for (const ValueId value : graph.values()) {
    const Tensor* constant = graph.constant(value);
    if (constant == nullptr || constant->dtype() != DType::kFloat32) {
      continue;
    }
    const auto elements = constant->view<float>();
    if (std::none_of(elements.begin(), elements.end(), is_denormal)) {
      continue;
    }
    Tensor flushed = *constant;
    const auto to = flushed.mutable_view<float>();
    std::replace_if(to.begin(), to.end(), is_denormal, 0.0F);
    replace_constant(graph, value, std::move(flushed));
  }
  return graph;
}

}  // namespace tare
