#include "support/random/fake_quantized.h"

#include "support/graphs.h"

#include <type_traits>

namespace tare::test {
namespace {

Tensor integers(DType dtype, const Shape& shape, std::int64_t low, std::int64_t high,
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

TensorType storage_type(const Shape& shape, const QuantParams& q) {
  return {.dtype = q.storage, .shape = shape, .quant = q, .point = {}};
}

}  // namespace

std::vector<Tensor> random_storage(const Graph& graph, std::uint32_t seed) {
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

ValueId FakeQuantizedBuilder::input(const Shape& shape, const QuantParams& q,
                                    std::optional<std::pair<int, int>> limits) {
  const StorageRange range = q.range();
  const std::int64_t low = limits ? limits->first : range.low;
  const std::int64_t high = limits ? limits->second : range.high - 1;
  samples.push_back(integers(q.storage, shape, low, high, random));
  std::string name = "x";
  name += std::to_string(samples.size());
  return dequantized(graph.add_input(name, storage_type(shape, q)));
}

ValueId FakeQuantizedBuilder::weight(const Shape& shape, const QuantParams& q) {
  const StorageRange range = q.range();
  const bool wide_type = q.storage == DType::kInt32;
  const Tensor values = integers(q.storage, shape, wide_type ? -128 : range.low,
                                 wide_type ? 127 : range.high - 1, random);
  return dequantized(
      graph.add_constant(graph.unique_name("w"), values, storage_type(shape, q)));
}

ValueId FakeQuantizedBuilder::real(Tensor values) {
  return graph.add_constant(graph.unique_name("c"), std::move(values));
}

ValueId FakeQuantizedBuilder::indices(std::vector<std::int64_t> values) {
  const Shape shape{static_cast<std::int64_t>(values.size())};
  return real(Tensor::of<std::int64_t>(shape, values));
}

ValueId FakeQuantizedBuilder::op(const std::string& name, std::vector<ValueId> inputs,
                                 const Shape& shape, const Attributes& attributes) {
  return add(graph, name, std::move(inputs), shape, attributes);
}

ValueId FakeQuantizedBuilder::quantized_and_back(ValueId value, const QuantParams& q) {
  const std::string name = graph.unique_name("q");
  const NodeId id = graph.add_node(name, "Quantize", {value},
                                   {{name, storage_type(graph.type(value).shape, q)}});
  return dequantized(graph.node(id).outputs[0]);
}

void FakeQuantizedBuilder::result(ValueId value, const QuantParams& q) {
  const NodeId id = graph.add_node("z", "Quantize", {value},
                                   {{"z", storage_type(graph.type(value).shape, q)}});
  graph.set_outputs({graph.node(id).outputs[0]});
}

float FakeQuantizedBuilder::scale() {
  return 0.001F + 0.001F * static_cast<float>(random.integer(0, 998));
}

std::vector<float> FakeQuantizedBuilder::scales(std::size_t count, float low, float high) {
  std::vector<float> result(count);
  for (float& value : result) {
    value = low + (high - low) * static_cast<float>(random.integer(0, 1000)) / 1000;
  }
  return result;
}

ValueId FakeQuantizedBuilder::dequantized(ValueId storage) {
  return op("Dequantize", {storage}, graph.type(storage).shape);
}

}  // namespace tare::test
