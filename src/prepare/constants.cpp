#include "prepare/constants.h"

#include "tare/graph.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>

namespace tare {

std::optional<double> uniform_constant(const Graph& graph, ValueId id) {
  const Tensor* tensor = graph.constant(id);
  if (tensor == nullptr || !is_float(tensor->dtype()) || tensor->size() == 0) {
    return std::nullopt;
  }
  const std::vector<double> elements = tensor->to_double();
  const bool uniform = std::all_of(elements.begin(), elements.end(),
                                   [&](double x) { return x == elements.front(); });
  return uniform ? std::optional(elements.front()) : std::nullopt;
}

bool is_zero(const Graph& graph, ValueId value) {
  static const std::set<std::string_view> kMovers{"Expand",  "Gather",    "Identity",
                                                  "Reshape", "Slice",     "Squeeze",
                                                  "Tile",    "Transpose", "Unsqueeze"};
  constexpr int kMost = 16;  // exporters need three or four
  for (int i = 0; i < kMost && value; ++i) {
    if (graph.constant(value) != nullptr) {
      return uniform_constant(graph, value) == 0.0;
    }
    const auto producer = graph.producer(value);
    if (!producer || !is_float(graph.type(value).dtype)) {
      return false;
    }
    const Node& node = graph.node(*producer);
    if (node.op == "ConstantOfShape") {
      return !node.attributes.has("value") ||
             node.attributes.tensor("value").to_double().at(0) == 0;
    }
    if (!kMovers.contains(node.op) || node.inputs.empty()) {
      return false;
    }
    value = node.inputs[0];
  }
  return false;
}

bool is_near(double value, double wanted) {
  constexpr double kStep = std::numeric_limits<float>::epsilon();
  return std::abs(value - wanted) <= 4 * kStep * std::abs(wanted);
}

bool is_near(const Graph& graph, ValueId result, double value, double wanted) {
  const auto found = graph.file_types.find(graph.name(result));
  const DType dtype = found == graph.file_types.end() ? DType::kFloat32 : found->second;
  if (dtype != DType::kFloat16 && dtype != DType::kBfloat16) {
    return is_near(value, wanted);
  }
  const double step = dtype == DType::kFloat16 ? 0x1p-10 : 0x1p-7;
  return std::abs(value - wanted) <= step * std::abs(wanted);
}

std::optional<std::vector<double>> per_channel(const Graph& graph, ValueId id,
                                               const Shape& result, std::size_t axis) {
  const Tensor* tensor = graph.constant(id);
  if (tensor == nullptr || tensor->dtype() != DType::kFloat32 || tensor->size() == 0 ||
      tensor->shape().size() > result.size()) {
    return std::nullopt;
  }
  const auto channels = static_cast<std::size_t>(result.at(axis));
  const std::size_t missing = result.size() - tensor->shape().size();
  for (std::size_t i = 0; i < tensor->shape().size(); ++i) {
    const std::int64_t extent = tensor->shape()[i];
    if (extent != 1 && (i + missing != axis || extent != result[axis])) {
      return std::nullopt;
    }
  }
  std::vector<double> elements = tensor->to_double();
  if (elements.size() == 1) {
    elements.resize(channels, elements.front());
  }
  return elements;
}

std::optional<Tensor> rounded(const Shape& shape, std::span<const double> values) {
  std::vector<float> floats(values.size());
  std::transform(values.begin(), values.end(), floats.begin(),
                 [](double x) { return static_cast<float>(x); });
  if (!std::all_of(floats.begin(), floats.end(), [](float x) { return std::isfinite(x); })) {
    return std::nullopt;
  }
  return Tensor::of(shape, floats);
}

}  // namespace tare
