// Models that were trained with quantization: QuantizeLinear and DequantizeLinear around some
// of their operators. What they say stays, and the rest is calibrated.
#include "tare/graph.h"
#include "tare/quantize.h"

#include "support/config.h"
#include "support/files/samples_in_memory.h"
#include "support/graphs.h"
#include "support/random/random.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// A convolution between quantized values as training left them, one in float, and their sum.
Graph half_quantized() {
  return parse(R"(graph "g" opset 17 (%x : f32[1,1,4,4]) -> (%y) {
  const %xs : f32[] = [0.017]
  const %xz : u8[] = [120]
  const %ws : f32[] = [0.011]
  const %wz : i8[] = [0]
  const %as : f32[] = [0.029]
  const %az : u8[] = [97]
  const %wq : i8[1,1,1,1] = [73]
  const %v : f32[1,1,3,3] = [0.1, -0.2, 0.3, 0.15, 0.4, -0.1, 0.2, 0.05, -0.3]
  const %u : f32[1,1,1,1] = [0.7]
  %xq = QuantizeLinear(%x, %xs, %xz) : u8[1,1,4,4]
  %xd = DequantizeLinear(%xq, %xs, %xz) : f32[1,1,4,4]
  %w = DequantizeLinear(%wq, %ws, %wz) : f32[1,1,1,1]
  %a = Conv(%xd, %w) : f32[1,1,4,4]
  %aq = QuantizeLinear(%a, %as, %az) : u8[1,1,4,4]
  %ad = DequantizeLinear(%aq, %as, %az) : f32[1,1,4,4]
  %b = Conv(%ad, %v) {pads=[1, 1, 1, 1]} : f32[1,1,4,4]
  %c = Add(%b, %ad) : f32[1,1,4,4]
  %y = Conv(%c, %u) : f32[1,1,4,4]
}
)");
}

TEST(FakeQuantizedModel, KeepsWhatItSaysAndGetsTheRestCalibrated) {
  Random random(8);
  const SamplesInMemory data({{"x", random.tensor({40, 1, 4, 4})}});
  const QuantizeResult result =
      quantize(half_quantized(), data, config_with({"objective=coverage"}), Toolkit::builtin());
  const Graph& integer = result.integer;
  int stated = 0;
  int others = 0;
  for (const ValueId value : integer.values()) {
    const TensorType& type = integer.type(value);
    if (!type.quant || type.dtype != DType::kUint8) {
      continue;
    }
    const float scale = type.quant->scale[0];
    if (scale == 0.017F) {
      EXPECT_EQ(type.quant->zero_point[0], 120);
      ++stated;
    } else if (scale == 0.029F) {
      EXPECT_EQ(type.quant->zero_point[0], 97);
      ++stated;
    } else {
      ++others;
    }
  }
  EXPECT_EQ(stated, 2) << "each once: nobody asked for other parameters of the same value";
  EXPECT_GT(others, 1) << "of what the model says nothing of";
  for (const NodeId id : integer.nodes()) {
    const Node& node = integer.node(id);
    if (node.op == "Requantize") {
      EXPECT_EQ(integer.type(node.inputs[0]).dtype, DType::kInt32)
          << "'" << node.name << "' rounds a value twice";
    }
  }
  EXPECT_EQ(count_of(integer, "Conv"), 3U);
}

}  // namespace
}  // namespace tare::test
