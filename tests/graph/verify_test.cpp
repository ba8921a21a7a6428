#include "tare/error.h"
#include "tare/graph.h"

#include <set>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// The places that verify complains about.
std::multiset<std::string> faulty_places(const Graph& graph) {
  std::multiset<std::string> places;
  try {
    verify(graph);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidModel);
    for (const Fault& fault : error.faults()) {
      places.insert(fault.where);
    }
  }
  return places;
}

TensorType i8(Shape shape, QuantParams params) {
  return {.dtype = DType::kInt8,
          .shape = std::move(shape),
          .quant = std::move(params),
          .point = {}};
}

TEST(Verify, ReportsEveryViolationAtOnce) {
  Graph graph;
  const ValueId x = graph.add_input("x", {.shape = {1, -2}});
  graph.add_input("huge", {.shape = {INT64_MAX, 2}});
  graph.add_constant("short", Tensor(DType::kFloat32, {2}), {.shape = {3}});
  graph.add_constant("scale", Tensor(DType::kInt8, {1}), i8({1}, {.scale = {-1}}));
  graph.add_constant("zero", Tensor(DType::kInt8, {1}), i8({1}, {.zero_point = {128}}));
  graph.add_constant("axis", Tensor(DType::kInt8, {1}), i8({1}, {.axis = 1}));
  graph.add_constant("count", Tensor(DType::kInt8, {2}), i8({2}, {.axis = 0}));
  graph.add_constant("storage", Tensor(DType::kInt8, {1}), i8({1}, {.storage = DType::kUint8}));
  graph.add_constant("float", Tensor(DType::kFloat32, {1}),
                     {.shape = {1}, .quant = QuantParams{.storage = DType::kFloat32}});
  graph.add_node("node", "", {x}, {{"y", {}}});
  EXPECT_EQ(
      faulty_places(graph),
      (std::multiset<std::string>{
          "", "node 'node'", "value 'axis'", "value 'count'", "value 'float'", "value 'huge'",
          "value 'scale'", "value 'short'", "value 'storage'", "value 'x'", "value 'zero'"}));
}

TEST(Verify, NarrowRangeExcludesTheLowestStep) {
  Graph graph;
  graph.set_outputs({graph.add_constant(
      "c", Tensor(DType::kInt8, {1}), i8({1}, {.zero_point = {-128}, .narrow_range = true}))});
  EXPECT_EQ(faulty_places(graph).size(), 1U);
  graph.set_type(graph.outputs()[0], i8({1}, {.zero_point = {-128}}));
  EXPECT_EQ(faulty_places(graph).size(), 0U);
}

TEST(Verify, IntegersUseNoMoreBitsThanTheyHave) {
  Graph graph;
  graph.set_outputs({graph.add_constant("c", Tensor(DType::kInt8, {1}), i8({1}, {.bits = 8}))});
  EXPECT_EQ(faulty_places(graph).size(), 0U);
  for (const int bits : {-1, 9}) {
    graph.set_type(graph.outputs()[0], i8({1}, {.bits = bits}));
    EXPECT_EQ(faulty_places(graph).size(), 1U) << bits;
  }
  graph.set_type(graph.outputs()[0], i8({1}, {.zero_point = {8}, .bits = 4}));
  EXPECT_EQ(faulty_places(graph).size(), 1U);
}

TEST(Verify, FindsACycle) {
  Graph graph;
  const ValueId x = graph.add_input("x", {});
  const NodeId a = graph.add_node("a", "Relu", {x}, {{"a", {}}});
  const NodeId b = graph.add_node("b", "Relu", {graph.node(a).outputs[0]}, {{"b", {}}});
  graph.set_input(a, 0, graph.node(b).outputs[0]);
  graph.set_outputs({graph.node(b).outputs[0]});
  EXPECT_EQ(faulty_places(graph), (std::multiset<std::string>{"node 'a'"}));
}

}  // namespace
}  // namespace tare::test
