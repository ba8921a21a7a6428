

#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/integer_graph.h"
#include "tare/pattern.h"
#include "tare/quantize.h"

#include "lower/lower.h"
#include "support/files/models.h"
#include "support/random/any_graph.h"
#include "support/random/random_network.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using Nodes = std::set<NodeId>;

Nodes nodes_of(const OffloadRegion& region) {
  return {region.nodes.begin(), region.nodes.end()};
}

Nodes readers_of(const Graph& graph, NodeId node) {
  Nodes readers;
  for (const ValueId result : graph.node(node).outputs) {
    readers.insert(graph.users(result).begin(), graph.users(result).end());
  }
  return readers;
}

/// Everything outside of the region that a path from it leads to.
Nodes behind(const Graph& graph, const Nodes& region) {
  Nodes reached;
  std::vector<NodeId> todo(region.begin(), region.end());
  while (!todo.empty()) {
    const NodeId node = todo.back();
    todo.pop_back();
    for (const NodeId reader : readers_of(graph, node)) {
      if (!region.contains(reader) && reached.insert(reader).second) {
        todo.push_back(reader);
      }
    }
  }
  return reached;
}

bool is_convex(const Graph& graph, const Nodes& region) {
  const Nodes outside = behind(graph, region);
  return std::none_of(outside.begin(), outside.end(), [&](NodeId node) {
    const Nodes readers = readers_of(graph, node);
    return std::any_of(readers.begin(), readers.end(),
                       [&](NodeId reader) { return region.contains(reader); });
  });
}

/// Only the root computes what others read.
bool keeps_its_interior(const Graph& graph, const Nodes& region, NodeId root) {
  return std::all_of(region.begin(), region.end(), [&](NodeId node) {
    const auto& results = graph.node(node).outputs;
    const Nodes readers = readers_of(graph, node);
    return node == root ||
           (std::includes(region.begin(), region.end(), readers.begin(), readers.end()) &&
            std::none_of(results.begin(), results.end(),
                         [&](ValueId result) { return graph.is_output(result); }));
  });
}

Nodes taken_by(const std::vector<OffloadRegion>& regions) {
  Nodes taken;
  for (const OffloadRegion& region : regions) {
    taken.insert(region.nodes.begin(), region.nodes.end());
  }
  return taken;
}

void expect_legal(const Graph& graph, const std::vector<OffloadRegion>& regions) {
  Nodes taken;
  std::set<ValueId> computed_later;
  for (const OffloadRegion& region : regions) {
    computed_later.insert(region.outputs.begin(), region.outputs.end());
  }
  for (const OffloadRegion& region : regions) {
    const Nodes nodes = nodes_of(region);
    EXPECT_EQ(nodes.size(), region.nodes.size());
    EXPECT_TRUE(is_convex(graph, nodes)) << region.pattern;
    EXPECT_TRUE(keeps_its_interior(graph, nodes, region.match.root())) << region.pattern;
    for (const NodeId node : region.nodes) {
      EXPECT_TRUE(taken.insert(node).second) << graph.node(node).name;
    }
    for (const ValueId input : region.inputs) {
      EXPECT_FALSE(computed_later.contains(input)) << graph.name(input);
    }
    for (const ValueId output : region.outputs) {
      computed_later.erase(output);
    }
  }
}

/// The pattern at a node of the rest would be a region too.
bool is_left_over(const Graph& graph, const Pattern& pattern, NodeId root, const Nodes& taken) {
  const auto match = pattern.match(graph, root);
  if (!match) {
    return false;
  }
  const Nodes nodes(match->nodes().begin(), match->nodes().end());
  return keeps_its_interior(graph, nodes, root) &&
         std::none_of(nodes.begin(), nodes.end(),
                      [&](NodeId node) { return taken.contains(node); });
}

void expect_covered(const Graph& graph, const std::vector<OffloadPattern>& patterns,
                    const std::vector<OffloadRegion>& regions) {
  const Nodes taken = taken_by(regions);
  for (const auto& [name, pattern] : patterns) {
    for (const NodeId node : graph.nodes()) {
      EXPECT_FALSE(is_left_over(graph, pattern, node, taken))
          << name << " at " << graph.node(node).name;
    }
  }
}

class AnyPartition : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(AnyPartition, IsOfClosedConvexDisjointRegionsAndLeavesNoMatchOver) {
  Random random(GetParam());
  const Graph graph = random_network(random, 30);
  const Pattern conv = op("Conv");
  const Pattern relu = op("Relu").with(any());
  const std::vector<OffloadPattern> patterns{
      {"diamond", op("Add").with_any_order(op("Relu").with(any().as("x")), any().as("x"))},
      {"two branches", op("Add").with_any_order(conv, relu | op("MaxPool"))},
      {"around a mean", op("Mul").with(op("Conv").as("x"),
                                       op("GlobalAveragePool").with(any().as("x")).context())},
      {"one branch", op("Add").with_any_order(conv.single_use(), any())},
      {"chain", op("Conv").with(op("Conv") | op("Relu").with(op("Conv")), constant())},
      {"activation", op("Relu").with(conv)},
      {"conv", conv}};
  const std::vector<OffloadRegion> regions = partition(graph, patterns);
  expect_legal(graph, regions);
  expect_covered(graph, patterns, regions);
}

TEST_P(AnyPartition, OfAnIntegerGraphTakesAllThatIsAmongStorageValues) {
  FakeQuantizedBuilder builder(GetParam());
  const Graph graph = lower(any_graph(builder));
  const std::vector<OffloadRegion> regions = partition(graph, integer_patterns());
  expect_legal(graph, regions);
  const Nodes taken = taken_by(regions);
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const bool is_among_storage_values =
        std::all_of(node.inputs.begin(), node.inputs.end(),
                    [&](ValueId operand) {
                      return !operand || graph.constant(operand) != nullptr ||
                             graph.type(operand).quant;
                    }) &&
        graph.type(node.outputs[0]).quant;
    EXPECT_EQ(taken.contains(id),
              is_among_storage_values ||
                  (node.op == "Dequantize" &&
                   taken.contains(graph.producer(node.inputs[0]).value_or(NodeId{})) &&
                   graph.type(node.inputs[0]).dtype == DType::kInt32))
        << node.name << '\n'
        << print(graph);
  }
}

INSTANTIATE_TEST_SUITE_P(Random, AnyPartition, ::testing::Range(0U, 200U));

Graph chain(const std::string& outputs) {
  return parse("graph \"g\" opset 17 (%x : i8[1,4] q(0.5, 0)) -> (" + outputs + R"() {
    const %w : i8[4,4] q(axis=1, [0.5, 0.25, 0.5, 1], [0, 0, 0, 0]) =
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
    const %b : i32[4] q(axis=0, [0.25, 0.125, 0.25, 0.5], [0, 0, 0, 0]) = [1, 2, 3, 4]
    %sum = Gemm(%x, %w, %b) : i32[1,4] q(axis=1, [0.25, 0.125, 0.25, 0.5], [0, 0, 0, 0])
    %y = Requantize(%sum) : i8[1,4] q(2, 3)
    %z = Relu(%y) : i8[1,4] q(2, 3)
    %s = Sigmoid(%z) : i8[1,4] q(0.00390625, -128)
  })");
}

std::vector<std::string> names(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<std::string> result;
  result.reserve(values.size());
  for (const ValueId value : values) {
    result.push_back(graph.name(value));
  }
  return result;
}

std::vector<std::string> kinds(const Graph& graph) {
  std::vector<std::string> result;
  for (const OffloadRegion& region : partition(graph, integer_patterns())) {
    result.push_back(region.pattern);
  }
  return result;
}

using Names = std::vector<std::string>;

TEST(Partition, GivesEveryParameterThatARegionNeeds) {
  const Graph graph = chain("%s");
  const auto regions = partition(graph, integer_patterns());
  ASSERT_EQ(regions.size(), 2U);
  const OffloadRegion& dense = regions[0];
  EXPECT_EQ(dense.pattern, "product_activation");
  EXPECT_EQ(graph.node(dense.match.node("product")).op, "Gemm");
  EXPECT_EQ(dense.nodes.size(), 3U);
  EXPECT_EQ(names(graph, dense.inputs), Names{"x"});
  EXPECT_EQ(names(graph, dense.constants), (Names{"w", "b"}));
  EXPECT_EQ(names(graph, dense.outputs), Names{"z"});
  EXPECT_EQ(graph.type(dense.match.value("weight")).quant->scale,
            (std::vector<float>{0.5F, 0.25F, 0.5F, 1}));
  EXPECT_EQ(to_string(*graph.type(dense.outputs[0]).quant), "q(2, 3)");
  EXPECT_EQ(regions[1].pattern, "operator");
  EXPECT_EQ(names(graph, regions[1].inputs), Names{"z"});
}

TEST(Partition, SplitsWhereAnInnerValueIsAnOutputOfTheGraph) {
  EXPECT_EQ(kinds(chain("%s, %z")), (Names{"product_activation", "operator"}));
  EXPECT_EQ(kinds(chain("%s, %y")), (Names{"product", "operator", "operator"}));
  EXPECT_EQ(kinds(chain("%s, %sum")), (Names{"operator", "operator", "operator", "operator"}));
}

TEST(Partition, TriesPatternsInTheirOrder) {
  const Graph graph = chain("%s");
  const auto regions =
      partition(graph, {{"small", op("Requantize")}, {"large", op("Relu").with(any_op())}});
  ASSERT_EQ(regions.size(), 1U);
  EXPECT_EQ(regions[0].pattern, "small");
}

TEST(Partition, OfTheDigitsNetworkRunsEveryProductTogetherWithItsRequantize) {
  const TestModel digits = test_models().front();
  const auto data = open_dataset(digits.calibration);
  for (const bool symmetric : {false, true}) {
    Config config;
    config.effort = Effort::kFast;
    config.activations.symmetric = symmetric;
    config.activations.storage = symmetric ? DType::kInt8 : DType::kUint8;
    const Graph graph =
        quantize(load_model(digits.model, {}, data.get()), *data, config, Toolkit::builtin())
            .integer;
    const auto regions = partition(graph, integer_patterns());
    expect_legal(graph, regions);
    const Nodes taken = taken_by(regions);
    for (const NodeId id : graph.nodes()) {
      const std::string& op = graph.node(id).op;
      const bool is_edge = op == "Quantize" || op == "Dequantize";
      EXPECT_TRUE(taken.contains(id) || is_edge) << graph.node(id).name;
    }
    std::size_t products = 0;
    for (const OffloadRegion& region : regions) {
      const std::string& first = graph.node(region.nodes[0]).op;
      if (first == "Conv" || first == "Gemm") {
        ++products;
        EXPECT_GE(region.nodes.size(), 2U) << graph.node(region.nodes[0]).name;
        const std::string& second = graph.node(region.nodes[1]).op;
        EXPECT_EQ(second, graph.is_output(region.outputs[0]) ? "Dequantize" : "Requantize");
        for (const ValueId value : {region.match.value("input"), region.match.value("weight"),
                                    region.match.value("bias")}) {
          EXPECT_TRUE(graph.type(value).quant) << graph.name(value);
        }
      } else {
        EXPECT_NE(first, "Requantize");
        EXPECT_TRUE((first != "Relu" && first != "Clip") ||
                    graph.node(*graph.producer(region.inputs[0])).op != "Requantize");
      }
    }
    EXPECT_EQ(products, 18U);
  }
}

/// Of each region the operator of its product, with the parameters of what that reads.
std::multiset<std::string> products(const Graph& graph,
                                    const std::vector<OffloadPattern>& patterns) {
  std::multiset<std::string> result;
  for (const OffloadRegion& region : partition(graph, patterns)) {
    if (region.match.has("product")) {
      std::string text = graph.node(region.match.node("product")).op;
      for (const char* operand : {"input", "weight", "bias"}) {
        QuantParams params = graph.type(region.match.value(operand)).quant.value();
        params.narrow_range = false;  // says which storage values occur
        if (params.axis) {
          params.axis = 0;  // is another one where weights are transposed
        }
        text += ' ' + to_string(params);
      }
      result.insert(text);
    }
  }
  return result;
}

TEST(Partition, OfTheCalibratedSimulatedGraphFindsTheProductsOfTheIntegerOne) {
  const TestModel digits = test_models().front();
  const auto data = open_dataset(digits.calibration);
  Config config;
  config.effort = Effort::kFast;
  const QuantizeResult result =
      quantize(load_model(digits.model, {}, data.get()), *data, config, Toolkit::builtin());
  const auto product_of = [](const char* name) {
    const Pattern centred = op("Sub").with(any().as("input"), constant());
    const Pattern constant_operand = op("SimulatedQuantize");
    return op("SimulatedDequantize")
        .with(op(name)
                  .with(centred | any().as("input"), constant_operand.as("weight"),
                        constant_operand.as("bias"))
                  .as("product"));
  };
  const auto found = products(tare::bind(result.simulated, result.table),
                              {{"conv", product_of("Conv")}, {"gemm", product_of("Gemm")}});
  EXPECT_EQ(found.size(), 18U);
  EXPECT_EQ(found, products(result.integer, integer_patterns()));
}

}  // namespace
}  // namespace tare::test
