#pragma once

#include "tare/graph.h"

#include "support/random/random.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tare::test {

/// Any bytes for inputs of storage types.
std::vector<Tensor> random_storage(const Graph&, std::uint32_t seed);

/// A graph in the making, and samples for its inputs.
class FakeQuantizedBuilder {
 public:
  explicit FakeQuantizedBuilder(std::uint32_t seed) : random(seed) {}

  /// A dequantized input; its values are all of those that the type has but the highest, as in
  /// TVM's tests, or within the limits.
  ValueId input(const Shape&, const QuantParams&,
                std::optional<std::pair<int, int>> limits = {});
  /// A dequantized constant.
  ValueId weight(const Shape&, const QuantParams&);
  ValueId real(Tensor values);
  ValueId indices(std::vector<std::int64_t> values);

  ValueId op(const std::string& name, std::vector<ValueId> inputs, const Shape&,
             const Attributes& = {});
  /// What is left of a real value after Quantize and Dequantize.
  ValueId quantized_and_back(ValueId, const QuantParams&);
  /// Quantizes the value that the graph shall give.
  void result(ValueId, const QuantParams&);

  float scale();
  std::vector<float> scales(std::size_t count, float low, float high);

  Random random;
  bool wide = false;  ///< activations may have 16 bits
  Graph graph;
  std::vector<Tensor> samples;

 private:
  ValueId dequantized(ValueId storage);
};

}  // namespace tare::test
