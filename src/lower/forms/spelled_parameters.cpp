#include "lower/forms/spelled_parameters.h"

#include "tare/graph.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tare {

std::optional<SpelledRow> row_of(const Graph& graph, ValueId constant, std::size_t rank) {
  const Tensor& tensor = *graph.constant(constant);
  const Shape& shape = tensor.shape();
  if (tensor.dtype() != DType::kFloat32 || shape.size() > rank || tensor.size() == 0) {
    return std::nullopt;
  }
  SpelledRow row{tensor.to_float(), {}};
  if (row.values.size() == 1) {
    return row;
  }
  const auto long_axis = std::find(shape.begin(), shape.end(), tensor.size());
  if (long_axis == shape.end()) {
    return std::nullopt;
  }
  row.axis = static_cast<std::int64_t>(rank) - (shape.end() - long_axis);
  return row;
}

std::optional<SpelledParameters> parameters_of(const SpelledRow& scales,
                                               const SpelledRow& zero_points, DType storage) {
  const StorageRange range = storage_range(storage, false);
  const std::vector<float>& zeros = zero_points.values;
  const bool fit = std::all_of(zeros.begin(), zeros.end(), [&](float zero) {
    return std::nearbyint(zero) == zero && zero >= static_cast<float>(range.low) &&
           zero <= static_cast<float>(range.high);
  });
  const bool alike = zeros.size() == scales.values.size() && zero_points.axis == scales.axis;
  if (!fit || (zeros.size() != 1 && !alike)) {
    return std::nullopt;
  }
  std::vector<float> all = zeros;
  all.resize(scales.values.size(), zeros[0]);
  const Shape shape = scales.axis ? Shape{static_cast<std::int64_t>(all.size())} : Shape{};
  QuantParams unit;
  unit.storage = storage;
  return SpelledParameters{scales, quantize(Tensor::of<float>(shape, all), unit)};
}

std::optional<SpelledParameters> parameters_of(const Graph& graph, const Match& match,
                                               std::string_view scale, std::string_view zero,
                                               std::size_t rank, DType storage) {
  const auto scales = row_of(graph, match.value(scale), rank);
  const auto zeros = row_of(graph, match.value(zero), rank);
  return scales && zeros ? parameters_of(*scales, *zeros, storage) : std::nullopt;
}

ValueId add_linear(Patch& patch, const char* op, ValueId x, const SpelledParameters& parameters,
                   DType result, const std::string& name) {
  TensorType type = patch.type(x);
  type.dtype = result;
  const auto& [scales, zero_points] = parameters;
  const ValueId scale = patch.add_constant(
      name + "_scale", Tensor::of<float>(zero_points.shape(), scales.values));
  const ValueId zero_point = patch.add_constant(name + "_zero_point", zero_points);
  return patch.add(op, {x, scale, zero_point}, type, name,
                   scales.axis ? Attributes{{"axis", *scales.axis}} : Attributes{});
}

}  // namespace tare
