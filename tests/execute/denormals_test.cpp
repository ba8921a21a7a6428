#include "tare/error.h"
#include "tare/execute.h"

#include "support/graphs.h"

#include <thread>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Products of 1e30 and 1e-40, which are 1e-10 for who counts denormals.
Graph tiny_products(const std::string& op) {
  Graph graph;
  const bool conv = op == "Conv";
  const Shape shape = conv ? Shape{1, 40, 3, 3} : Shape{40, 9};
  const ValueId x = graph.add_input("x", f32(shape));
  Tensor tiny(DType::kFloat32, conv ? Shape{40, 40, 1, 1} : shape);
  for (float& value : tiny.mutable_view<float>()) {
    value = 1e-40F;
  }
  graph.set_outputs({add(graph, op, {x, graph.add_constant("w", tiny)}, shape)});
  return graph;
}

std::vector<float> run(const Graph& graph, const ValueCallback& callback = {}) {
  ExecuteOptions options;
  options.observe = {graph.outputs()[0]};
  const Executable executable(graph, options);
  Executable::Workspace workspace(executable);
  Tensor x(DType::kFloat32, graph.type(graph.inputs()[0]).shape);
  for (float& value : x.mutable_view<float>()) {
    value = 1e30F;
  }
  return executable.run(workspace, {&x, 1}, callback).at(0).to_float();
}

/// What this thread makes of half of the smallest normal float.
float half_of_smallest() {
  volatile float smallest = std::numeric_limits<float>::min();
  return smallest / 2;
}

class DenormalsOf : public ::testing::TestWithParam<const char*> {};

TEST_P(DenormalsOf, AreZeroWhileAGraphRunsOnAnyThread) {
  const Graph graph = tiny_products(GetParam());
  const std::vector<float> zeros(360, 0.0F);
  EXPECT_EQ(run(graph), zeros);
  std::vector<float> elsewhere;
  std::thread([&] { elsewhere = run(graph); }).join();
  EXPECT_EQ(elsewhere, zeros);
}

INSTANTIATE_TEST_SUITE_P(Kernels, DenormalsOf, ::testing::Values("Conv", "Mul"));

TEST(Denormals, AreTheCallersOwnInObserversAndAfterwards) {
  float observed = 0;
  run(tiny_products("Mul"),
      [&](std::size_t, const TensorView&) { observed = half_of_smallest(); });
  EXPECT_GT(observed, 0);
  EXPECT_GT(half_of_smallest(), 0);
}

TEST(Denormals, AreTheCallersOwnAfterAKernelThatFailed) {
  Graph graph;
  const ValueId index = graph.add_input("index", typed(DType::kInt64, {1}));
  const ValueId x = graph.add_constant("x", Tensor(DType::kFloat32, {3}));
  graph.set_outputs({add(graph, "Gather", {x, index}, {1})});
  const Tensor far = Tensor::of<std::int64_t>({1}, {7});
  EXPECT_THROW(Executable(graph).run({&far, 1}), Error);
  EXPECT_GT(half_of_smallest(), 0);
}

}  // namespace
}  // namespace tare::test
