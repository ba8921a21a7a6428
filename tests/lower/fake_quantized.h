#pragma once

#include "tare/graph.h"

#include "execute/support.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tare::test {

inline QuantParams params(DType storage, float scale, std::int32_t zero) {
  return {.storage = storage,
          .scale = {scale},
          .zero_point = {zero},
          .axis = {},
          .narrow_range = false};
}

inline QuantParams i8(float scale, std::int32_t zero) {
  return params(DType::kInt8, scale, zero);
}

inline QuantParams u8(float scale, std::int32_t zero) {
  return params(DType::kUint8, scale, zero);
}

inline QuantParams per_axis(DType storage, int axis, std::vector<float> scale,
                            std::vector<std::int32_t> zero) {
  return {.storage = storage,
          .scale = std::move(scale),
          .zero_point = std::move(zero),
          .axis = axis,
          .narrow_range = false};
}

inline Tensor integers(DType dtype, const Shape& shape, std::int64_t low, std::int64_t high,
                       Random& random) {
  Tensor result(dtype, shape);
  const auto fill = [&](auto values) {
    for (auto& value : values) {
      value = static_cast<std::decay_t<decltype(value)>>(random.integer(low, high));
    }
  };
  if (dtype == DType::kInt8) {
    fill(result.mutable_view<std::int8_t>());
  } else if (dtype == DType::kUint8) {
    fill(result.mutable_view<std::uint8_t>());
  } else if (dtype == DType::kInt16) {
    fill(result.mutable_view<std::int16_t>());
  } else if (dtype == DType::kUint16) {
    fill(result.mutable_view<std::uint16_t>());
  } else {
    fill(result.mutable_view<std::int32_t>());
  }
  return result;
}

/// Any bytes for inputs of storage types.
inline std::vector<Tensor> random_storage(const Graph& graph, std::uint32_t seed) {
  Random random(seed);
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs()) {
    Tensor tensor(graph.type(id).dtype, graph.type(id).shape);
    for (std::size_t i = 0; i < tensor.byte_size(); ++i) {
      tensor.mutable_data()[i] = static_cast<std::byte>(random.integer(0, 255));
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

/// A graph in the making, and samples for its inputs.
class FakeQuantizedBuilder {
 public:
  explicit FakeQuantizedBuilder(std::uint32_t seed) : random(seed) {}

  /// A dequantized input; its values are all of those that the type has but the highest, as in
  /// TVM's tests, or within the limits.
  ValueId input(const Shape& shape, const QuantParams& q,
                std::optional<std::pair<int, int>> limits = {}) {
    const StorageRange range = q.range();
    const std::int64_t low = limits ? limits->first : range.low;
    const std::int64_t high = limits ? limits->second : range.high - 1;
    samples.push_back(integers(q.storage, shape, low, high, random));
    return dequantized(
        graph.add_input("x" + std::to_string(samples.size()), storage_type(shape, q)));
  }

  /// A dequantized constant.
  ValueId weight(const Shape& shape, const QuantParams& q) {
    const StorageRange range = q.range();
    const bool wide = q.storage == DType::kInt32;
    const Tensor values = integers(q.storage, shape, wide ? -128 : range.low,
                                   wide ? 127 : range.high - 1, random);
    return dequantized(
        graph.add_constant(graph.unique_name("w"), values, storage_type(shape, q)));
  }

  ValueId real(Tensor values) {
    return graph.add_constant(graph.unique_name("c"), std::move(values));
  }
  ValueId indices(std::vector<std::int64_t> values) {
    const Shape shape{static_cast<std::int64_t>(values.size())};
    return real(Tensor::of<std::int64_t>(shape, values));
  }

  ValueId op(const std::string& name, std::vector<ValueId> inputs, const Shape& shape,
             const Attributes& attributes = {}) {
    return add(graph, name, std::move(inputs), shape, attributes);
  }

  void result(ValueId value, const QuantParams& q) {
    const NodeId id = graph.add_node("z", "Quantize", {value},
                                     {{"z", storage_type(graph.type(value).shape, q)}});
    graph.set_outputs({graph.node(id).outputs[0]});
  }

  /// What is left of a real value after Quantize and Dequantize.
  ValueId quantized_and_back(ValueId value, const QuantParams& q) {
    const std::string name = graph.unique_name("q");
    const NodeId id = graph.add_node(name, "Quantize", {value},
                                     {{name, storage_type(graph.type(value).shape, q)}});
    return dequantized(graph.node(id).outputs[0]);
  }

  float scale() { return 0.001F + 0.001F * static_cast<float>(random.integer(0, 998)); }
  std::vector<float> scales(std::size_t count, float low, float high) {
    std::vector<float> result(count);
    for (float& value : result) {
      value = low + (high - low) * static_cast<float>(random.integer(0, 1000)) / 1000;
    }
    return result;
  }

  Random random;
  bool wide = false;  ///< activations may have 16 bits
  Graph graph;
  std::vector<Tensor> samples;

 private:
  static TensorType storage_type(const Shape& shape, const QuantParams& q) {
    return {.dtype = q.storage, .shape = shape, .quant = q, .point = {}};
  }

  ValueId dequantized(ValueId storage) {
    return op("Dequantize", {storage}, graph.type(storage).shape);
  }
};

}  // namespace tare::test
