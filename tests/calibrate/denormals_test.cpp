#include "calibrate/statistics/denormals.h"

#include "tare/config.h"
#include "tare/quantize.h"

#include "support/files/samples_in_memory.h"

#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

Graph with_weights(const std::vector<float>& first, const std::vector<float>& second) {
  Graph graph;
  const auto count = [](const std::vector<float>& values) {
    return static_cast<std::int64_t>(values.size());
  };
  graph.add_constant("first", Tensor::of<float>({count(first)}, first));
  graph.add_constant("second", Tensor::of<float>({count(second)}, second));
  graph.add_constant("index", Tensor::of<std::int64_t>({1}, {1}));
  return graph;
}

TEST(DenormalWeights, AreCountedInOneWarning) {
  const auto warning = denormal_weights(with_weights({1, 1e-40F, 0}, {-1e-39F, 1e-38F}));
  ASSERT_TRUE(warning);
  EXPECT_EQ(warning->kind, "denormal_weights");
  EXPECT_TRUE(warning->what.starts_with("3 of 5 are denormal")) << warning->what;
}

TEST(DenormalWeights, AreNeitherZerosNorTheSmallestNormalNumbers) {
  EXPECT_FALSE(denormal_weights(with_weights({0, -0.0F}, {0x1p-126F, -0x1p-126F})));
}

TEST(DenormalWeights, BecomeZeros) {
  const Graph graph =
      without_denormal_weights(with_weights({1, 1e-40F, 0x1p-126F}, {-1e-39F, 2}));
  EXPECT_FALSE(denormal_weights(graph));
  const auto elements = [&](const char* name) {
    return graph.constant(*graph.find_value(name))->to_float();
  };
  EXPECT_EQ(elements("first"), (std::vector<float>{1, 0, 0x1p-126F}));
  EXPECT_EQ(elements("second"), (std::vector<float>{0, 2}));
}

TEST(DenormalWeights, KeepTheNameOfAResult) {
  Graph graph = with_weights({1, 1e-40F}, {1});
  graph.set_outputs({*graph.find_value("first")});
  graph = without_denormal_weights(std::move(graph));
  ASSERT_EQ(graph.outputs().size(), 1U);
  EXPECT_EQ(graph.name(graph.outputs()[0]), "first");
  EXPECT_FALSE(denormal_weights(graph));
}

TEST(DenormalWeights, AreInNoFileThatIsWritten) {
  // An engine that counts them is 40 times slower on a network of which one in 15 is such.
  const Graph graph = parse(R"(graph "g" opset 17 (%x : f32[1,2]) -> (%y) {
  const %w : f32[2,2] = [1, 1e-40, -1e-39, 2]
  %y = MatMul(%x, %w) : f32[1,2]
}
)");
  Tensor x(DType::kFloat32, {16, 2});
  for (std::size_t i = 0; i < 32; ++i) {
    x.mutable_view<float>()[i] = static_cast<float>(i % 7) - 3;
  }
  for (const bool in_float : {false, true}) {
    Config config;
    LayerRule all;
    all.keep_float = in_float;
    config.layers = {all};
    const QuantizeResult result =
        quantize(graph, SamplesInMemory({{"x", x}}), config, Toolkit::builtin());
    EXPECT_FALSE(denormal_weights(result.integer));
    EXPECT_FALSE(denormal_weights(result.qdq));
    EXPECT_EQ(result.audit.warnings.back().kind, "denormal_weights");
  }
}

}  // namespace
}  // namespace tare::test
