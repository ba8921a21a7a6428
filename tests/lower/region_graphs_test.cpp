// Regions as networks of their own, and the graph that is left: together they are the whole.
#include "tare/execute.h"
#include "tare/integer_graph.h"

#include "lower/lower.h"
#include "support/random/any_graph.h"
#include "support/random/fake_quantized.h"
#include "support/random/random.h"

#include <cstddef>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Reals, or storage values from 0 to 127, which all types hold.
Tensor random_tensor(const TensorType& type, Random& random) {
  const Tensor reals = random.tensor(type.shape);
  if (type.dtype == DType::kFloat32) {
    return reals;
  }
  Tensor result(type.dtype, type.shape);
  const auto values = reals.view<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    result.mutable_data()[i] =
        static_cast<std::byte>(std::abs(static_cast<int>(values[i] * 40)) % 128);
  }
  return result;
}

/// Random values for each input, by name.
std::map<std::string, Tensor> inputs_of(const Graph& graph, Random& random) {
  std::map<std::string, Tensor> inputs;
  for (const ValueId input : graph.inputs()) {
    inputs.emplace(graph.name(input), random_tensor(graph.type(input), random));
  }
  return inputs;
}

/// Runs the graph on values by name; all results by name.
std::map<std::string, Tensor> run(const Graph& graph,
                                  const std::map<std::string, Tensor>& values) {
  const Executable executable(graph);
  std::vector<Tensor> inputs;
  for (const ValueId input : graph.inputs()) {
    inputs.push_back(values.at(graph.name(input)));
  }
  std::vector<Tensor> outputs = executable.run(inputs);
  std::map<std::string, Tensor> results;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    results.emplace(graph.name(graph.outputs()[i]), std::move(outputs[i]));
  }
  return results;
}

/// The node as a network of its own.
Graph alone(const Graph& graph, const Node& node) {
  Graph part;
  std::map<ValueId, ValueId> copies;
  std::vector<ValueId> operands;
  for (const ValueId operand : node.inputs) {
    if (operand && !copies.contains(operand)) {
      const Tensor* constant = graph.constant(operand);
      copies[operand] =
          constant != nullptr
              ? part.add_constant(graph.name(operand), *constant, graph.type(operand))
              : part.add_input(graph.name(operand), graph.type(operand));
    }
    operands.push_back(operand ? copies.at(operand) : ValueId{});
  }
  std::vector<NamedType> results;
  for (const ValueId output : node.outputs) {
    results.push_back({graph.name(output), graph.type(output)});
  }
  const NodeId copy = part.add_node(node.name, node.op, operands, results, node.attributes);
  part.set_outputs(part.node(copy).outputs);
  return part;
}

class RegionGraphs : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  RegionGraphs() : builder_(GetParam()), random_(GetParam()) {}

  Graph graph(const RequantizeMode& mode = {}) {
    return lower(any_graph(builder_),
                 {.usual = {.accumulator = {}, .requantize = mode}, .layers = {}});
  }

  FakeQuantizedBuilder builder_;
  Random random_;
};

TEST_P(RegionGraphs, AndWhatIsLeftComputeWhatTheWholeDoes) {
  const Graph whole = graph();
  const std::vector<OffloadRegion> regions = partition(whole, integer_patterns());
  const Graph rest = with_region_nodes(whole, regions);
  const auto values = inputs_of(whole, random_);
  EXPECT_EQ(run(rest, values), run(whole, values)) << print(whole);
}

TEST_P(RegionGraphs, RunOneByOneAsADeviceAndItsHostDo) {
  const Graph whole = graph(requantize_mode(RequantizeRounding::kUpward));
  const std::vector<OffloadRegion> regions = partition(whole, integer_patterns());
  const Graph rest = with_region_nodes(whole, regions);
  std::map<std::string, Tensor> values = inputs_of(whole, random_);
  const std::map<std::string, Tensor> expected = run(whole, values);
  std::map<std::string, const OffloadRegion*> by_root;
  for (const OffloadRegion& region : regions) {
    by_root.emplace(whole.node(region.match.root()).name, &region);
  }
  std::size_t on_device = 0;
  for (const NodeId id : rest.topological_order()) {
    const Node& node = rest.node(id);
    const bool is_region = node.op == "Region";
    on_device += is_region ? 1 : 0;
    Graph part;
    if (is_region) {
      part = region_graph(whole, *by_root.at(node.name));
    } else {
      part = alone(rest, node);
    }
    for (auto& [name, value] : run(part, values)) {
      values.insert_or_assign(name, std::move(value));
    }
  }
  EXPECT_EQ(on_device, regions.size());
  for (const auto& [name, value] : expected) {
    EXPECT_EQ(values.at(name), value) << name << '\n' << print(whole);
  }
}

INSTANTIATE_TEST_SUITE_P(Random, RegionGraphs, ::testing::Range(0U, 60U));

Graph two_products() {
  return parse(R"(graph "g" opset 17 (%x : i8[1,2] q(0.5, 0)) -> (%z) {
  const %w : i8[2,2] q(0.25, 0) = [1, -2, 3, 4]
  %s = MatMul(%x, %w) : i32[1,2] q(0.125, 0)
  %y = Requantize(%s) {arithmetic="fixed_point", rounding="upward"} : i8[1,2] q(0.75, 1)
  %t = MatMul(%y, %w) : i32[1,2] q(0.1875, 0)
  %z = Dequantize(%t) : f32[1,2]
}
)");
}

TEST(RegionNodes, HaveTheUnitsNameAndTheFactorsInIntegers) {
  const Graph whole = two_products();
  const std::vector<OffloadRegion> regions =
      partition(whole, {{"product", parse_pattern("Requantize(MatMul)")}});
  ASSERT_EQ(regions.size(), 1U);
  const Graph rest = with_region_nodes(whole, regions);
  const Node& node = rest.node(*rest.find_node("y"));
  EXPECT_EQ(node.op, "Region");
  EXPECT_EQ(node.attributes.text("unit"), "product");
  EXPECT_EQ(rest.nodes().size(), 3U);
  // 0.125 / 0.75 = 1/6 = 1431655765.33 * 2^-33
  const Graph region = region_graph(whole, regions[0]);
  const Node& requantize = region.node(*region.find_node("y"));
  EXPECT_EQ(rescaling_factors(region, requantize),
            (std::vector<FixedPointFactor>{{1431655765, -2}}));
  EXPECT_EQ(requantize.attributes.integers("significand"),
            (std::vector<std::int64_t>{1431655765}));
}

TEST(RegionNodes, AreWrittenAndReadAsText) {
  const Graph whole = two_products();
  const Graph rest = with_region_nodes(whole, partition(whole, integer_patterns()));
  EXPECT_EQ(parse(print(rest)), rest);
  const Tensor x = Tensor::of<std::int8_t>({1, 2}, {3, -7});
  EXPECT_EQ(Executable(parse(print(rest))).run(std::span(&x, 1)),
            Executable(whole).run(std::span(&x, 1)));
}

}  // namespace
}  // namespace tare::test
