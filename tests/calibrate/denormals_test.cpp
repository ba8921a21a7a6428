#include "calibrate/statistics/denormals.h"

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

}  // namespace
}  // namespace tare::test
