#include "tare/graph.h"

#include "tare/error.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

ValueId add(Graph& graph, const std::string& name, std::vector<ValueId> inputs) {
  return graph.node(graph.add_node("", "Op", std::move(inputs), {{name, {}}})).outputs[0];
}

std::vector<std::string> names(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::vector<std::string> result;
  for (const NodeId id : nodes) {
    result.push_back(graph.node(id).name);
  }
  return result;
}

using Names = std::vector<std::string>;

TEST(Graph, OrdersProducersFirstAndThenByAge) {
  Graph graph;
  const ValueId x = graph.add_input("x", {});
  const ValueId late = add(graph, "late", {x});
  add(graph, "middle", {x});
  const ValueId early = add(graph, "early", {x});
  // `late` now waits for `early`, the youngest.
  graph.set_input(*graph.producer(late), 0, early);
  EXPECT_EQ(names(graph, graph.topological_order()), (Names{"middle", "early", "late"}));
  EXPECT_EQ(names(graph, graph.nodes()), (Names{"late", "middle", "early"}));
}

TEST(Graph, OrdersANodeThatReadsOneValueTwice) {
  Graph graph;
  const ValueId a = add(graph, "a", {});
  add(graph, "twice", {a, ValueId{}, a});
  EXPECT_EQ(names(graph, graph.topological_order()), (Names{"a", "twice"}));
  EXPECT_EQ(graph.users(a).size(), 2U);
  EXPECT_FALSE(graph.single_use(a));
}

TEST(Graph, NamesANodeOfACycle) {
  Graph graph;
  const ValueId a = add(graph, "a", {});
  const ValueId b = add(graph, "b", {graph.add_input("x", {})});
  const ValueId c = add(graph, "c", {b});
  graph.set_input(*graph.producer(b), 0, c);
  EXPECT_TRUE(graph.users(a).empty());
  try {
    (void)graph.topological_order();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidModel);
    EXPECT_STREQ(error.what(), "node 'b': the graph has a cycle through this node");
  }
}

TEST(Graph, RefusesTwoValuesOrNodesOfOneName) {
  Graph graph;
  graph.add_input("x", {});
  EXPECT_THROW(graph.add_input("x", {}), Error);
  graph.add_node("n", "Op", {}, {{"a", {}}});
  EXPECT_THROW(graph.add_node("n", "Op", {}, {{"b", {}}}), Error);
}

TEST(ReplaceUses, MovesReadersAndKeepsTheNameOfAGraphOutput) {
  Graph graph;
  const ValueId x = graph.add_input("x", {});
  const ValueId before = add(graph, "y", {x});
  const ValueId reader = add(graph, "reader", {before, before});
  const ValueId after = add(graph, "other", {x});
  graph.set_outputs({before});
  graph.replace_uses(before, after);
  EXPECT_EQ(graph.outputs()[0], after);
  EXPECT_EQ(graph.name(after), "y");
  EXPECT_EQ(graph.find_value("y"), after);
  EXPECT_EQ(graph.find_value("other"), before);
  EXPECT_EQ(graph.node(*graph.producer(reader)).inputs, (std::vector<ValueId>{after, after}));
  EXPECT_TRUE(graph.users(before).empty());
  EXPECT_EQ(graph.users(after).size(), 2U);
}

TEST(ReplaceUses, LeavesTheNamesOfInputsAndOtherOutputs) {
  Graph graph;
  const ValueId x = graph.add_input("x", {});
  const ValueId y = add(graph, "y", {x});
  const ValueId z = add(graph, "z", {x});
  graph.set_outputs({y, z});
  graph.replace_uses(y, x);
  EXPECT_EQ(graph.name(graph.outputs()[0]), "x");
  graph.replace_uses(z, x);
  EXPECT_EQ(graph.name(graph.outputs()[1]), "x");
}

TEST(EraseUnused, KeepsWhatOutputsNeedAndAllInputs) {
  Graph graph;
  const ValueId x = graph.add_input("x", {});
  graph.add_input("unread", {});
  const ValueId w = graph.add_constant("w", Tensor(DType::kFloat32, {1}));
  const ValueId dead_w = graph.add_constant("dead_w", Tensor(DType::kFloat32, {1}));
  const ValueId y = add(graph, "y", {x, w});
  add(graph, "dead2", {add(graph, "dead1", {y, dead_w})});
  graph.set_outputs({y});
  graph.erase_unused();
  EXPECT_EQ(names(graph, graph.nodes()), (Names{"y"}));
  EXPECT_EQ(graph.values().size(), 4U);  // x, unread, w, y
  EXPECT_EQ(graph.inputs().size(), 2U);
  EXPECT_TRUE(graph.single_use(w));
  EXPECT_FALSE(graph.find_value("dead_w"));
  EXPECT_FALSE(graph.find_node("dead1"));
}

TEST(Erase, FreesTheNamesAndKeepsOtherHandles) {
  Graph graph;
  const ValueId x = graph.add_input("x", {});
  const ValueId y = add(graph, "y", {x});
  const ValueId z = add(graph, "z", {x});
  graph.erase(*graph.producer(y));
  EXPECT_EQ(graph.name(z), "z");
  EXPECT_EQ(graph.users(x).size(), 1U);
  EXPECT_NE(add(graph, "y", {x}), y);
}

TEST(Erase, RefusesANodeThatIsStillRead) {
  Graph graph;
  const ValueId y = add(graph, "y", {});
  graph.set_outputs({y});
  EXPECT_THROW(graph.erase(*graph.producer(y)), Error);
}

TEST(Erase, TakesInputsThatNothingReads) {
  Graph graph;
  const ValueId x = graph.add_input("x", {});
  const ValueId y = graph.add_input("y", {});
  graph.set_outputs({add(graph, "z", {y})});
  graph.erase(x);
  EXPECT_EQ(graph.inputs().size(), 1U);
  EXPECT_TRUE(graph.is_input(y));
  EXPECT_FALSE(graph.find_value("x"));
  EXPECT_THROW(graph.erase(y), Error);
}

TEST(UniqueName, AvoidsValuesAndNodes) {
  Graph graph;
  graph.add_input("a", {});
  graph.add_node("a_1", "Op", {}, {{"b", {}}});
  EXPECT_EQ(graph.unique_name("a"), "a_2");
  EXPECT_EQ(graph.unique_name("c"), "c");
}

TEST(Rename, GivesTheNameAndMovesAnotherOwnerAside) {
  Graph graph;
  const ValueId a = graph.add_input("a", {});
  const ValueId b = graph.add_input("b", {});
  graph.rename(a, "b");
  EXPECT_EQ(graph.name(a), "b");
  EXPECT_EQ(graph.find_value("b"), a);
  EXPECT_EQ(graph.name(b), "b_1");
  EXPECT_FALSE(graph.find_value("a"));
}

Graph two_branches(bool left_first) {
  Graph graph;
  const ValueId x = graph.add_input("x", {});
  const ValueId spare = graph.add_constant("spare", Tensor::scalar(1.0F));
  const ValueId first = add(graph, left_first ? "left" : "right", {x, spare});
  const ValueId second = add(graph, left_first ? "right" : "left", {x, spare});
  graph.set_outputs({left_first ? first : second});
  return graph;
}

TEST(GraphEquality, IsAboutNamesNotHandles) {
  Graph a;
  const ValueId x = a.add_input("x", {});
  a.erase(*a.producer(add(a, "gone", {x})));
  const ValueId spare = a.add_constant("spare", Tensor::scalar(1.0F));
  const ValueId left = add(a, "left", {x, spare});
  add(a, "right", {x, spare});
  a.set_outputs({left});
  EXPECT_TRUE(a == two_branches(true));
}

TEST(GraphEquality, SeesEveryDifference) {
  const Graph base = two_branches(true);
  EXPECT_FALSE(base == two_branches(false));  // another order of execution
  const auto differs = [&](auto&& change) {
    Graph changed = base;
    change(changed);
    return !(changed == base) && !(base == changed);
  };
  const ValueId left = *base.find_value("left");
  const NodeId node = *base.producer(left);
  EXPECT_FALSE(differs([](Graph&) {}));
  EXPECT_TRUE(differs([](Graph& g) { g.graph_name = "other"; }));
  EXPECT_TRUE(differs([](Graph& g) { g.opset = 11; }));
  EXPECT_TRUE(differs([](Graph& g) { g.dimension_names["x"] = {}; }));
  EXPECT_TRUE(differs([&](Graph& g) { g.set_type(left, {.point = "p"}); }));
  EXPECT_TRUE(differs([&](Graph& g) { g.set_type(g.inputs()[0], {.shape = {1}}); }));
  EXPECT_TRUE(differs([&](Graph& g) { g.set_input(node, 1, {}); }));
  EXPECT_TRUE(differs([&](Graph& g) { g.set_attributes(node, {{"a", std::int64_t{1}}}); }));
  EXPECT_TRUE(differs([](Graph& g) { g.set_outputs({*g.find_value("right")}); }));
  EXPECT_TRUE(differs([](Graph& g) { g.add_constant("more", Tensor::scalar(1.0F)); }));
  EXPECT_TRUE(differs([](Graph& g) { g.erase_unused(); }));
}

/// Adds, erases and renames at random, beside a map of the names that should be there.
TEST(Graph, FindsWhatIsAliveByItsName) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t count) { return random() % count; };
  Graph graph;
  std::map<std::string, NodeId> expected;
  for (int round = 0; round < 4000; ++round) {
    const std::string name = "n" + std::to_string(below(300));
    const auto found = expected.find(name);
    ASSERT_EQ(graph.find_node(name).has_value(), found != expected.end()) << name;
    if (found == expected.end()) {
      expected.emplace(name, graph.add_node(name, "Op", {}, {{graph.unique_name("v"), {}}}));
    } else if (below(2) == 0) {
      graph.erase(found->second);
      expected.erase(found);
    } else {
      const std::string other = "n" + std::to_string(below(300));
      graph.rename(found->second, other);
      if (!expected.contains(other)) {
        expected.emplace(other, found->second);
        expected.erase(name);
      }
    }
  }
  for (const auto& [name, id] : expected) {
    EXPECT_EQ(graph.find_node(name), id) << name;
    EXPECT_EQ(graph.find_value(graph.name(graph.node(id).outputs[0])),
              graph.node(id).outputs[0]);
  }
  EXPECT_EQ(graph.nodes().size(), expected.size());
}

TEST(Attributes, ReadTypedValuesOrSayWhy) {
  const Attributes attributes{{"axis", std::int64_t{2}}, {"alpha", 0.5F}};
  EXPECT_EQ(attributes.integer("axis"), 2);
  EXPECT_EQ(attributes.integer("missing", 7), 7);
  EXPECT_EQ(attributes.real("alpha"), 0.5F);
  EXPECT_THROW((void)attributes.real("axis"), Error);
  EXPECT_THROW((void)attributes.text("missing"), Error);
  EXPECT_THROW((void)attributes.integers("axis", {}), Error);
}

TEST(ConstantIntegers, ReadsConstantsOnly) {
  Graph graph;
  const ValueId axes = graph.add_constant(
      "axes", Tensor::of<std::int64_t>({2}, std::vector<std::int64_t>{1, -1}));
  const NodeId id = graph.add_node("", "Op", {graph.add_input("x", {}), axes}, {{"y", {}}});
  const Node& node = graph.node(id);
  EXPECT_EQ(constant_integers(graph, node, 1), (std::vector<std::int64_t>{1, -1}));
  EXPECT_FALSE(constant_integers(graph, node, 0));
  EXPECT_FALSE(constant_integers(graph, node, 2));
}

}  // namespace
}  // namespace tare::test
