#include "engine/model_inputs.h"

#include "tare/graph.h"

#include "execute/run/feed.h"

#include <algorithm>
#include <random>

namespace tare {
namespace {

Tensor made_up(const TensorType& type) {
  Tensor values(type.dtype, type.shape);
  if (type.dtype != DType::kFloat32) {
    return values;
  }
  // Sums of uniform values, as the standard says no more than the uniform ones' bits.
  std::mt19937 random(1);
  for (float& value : values.mutable_view<float>()) {
    double sum = 0;
    for (int i = 0; i < 4; ++i) {
      sum += static_cast<double>(random()) / 4294967296.0 - 0.5;
    }
    value = static_cast<float>(sum * 1.7320508);
  }
  return values;
}

}  // namespace

ModelInputs complete_inputs(const Graph& graph, const ModelInputs& given) {
  ModelInputs result;
  for (const ValueId input : graph.inputs()) {
    const TensorType& type = graph.type(input);
    const auto known = std::find_if(given.begin(), given.end(), [&](const auto& entry) {
      return entry.first == graph.name(input) && entry.second.dtype() == type.dtype &&
             entry.second.shape() == type.shape;
    });
    result.emplace_back(graph.name(input),
                        known != given.end() ? known->second : made_up(type));
  }
  return result;
}

ModelInputs model_inputs(const Graph& graph, const Dataset* data) {
  if (data == nullptr) {
    return complete_inputs(graph, {});
  }
  const std::vector<Tensor> first = Feed(graph, *data, 0).read(0);
  ModelInputs result;
  for (std::size_t i = 0; i < first.size(); ++i) {
    result.emplace_back(graph.name(graph.inputs()[i]), first[i]);
  }
  return result;
}

std::map<std::string, Shape> shapes_of(const ModelInputs& inputs) {
  std::map<std::string, Shape> result;
  for (const auto& [name, values] : inputs) {
    const Shape& shape = values.shape();
    result.emplace(name, shape.empty() ? Shape() : Shape(shape.begin() + 1, shape.end()));
  }
  return result;
}

}  // namespace tare
