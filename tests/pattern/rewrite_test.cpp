#include "tare/error.h"
#include "tare/pattern.h"

#include "support/graphs.h"

#include <ctime>
#include <set>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

const TensorType kPair = f32({2});

/// A chain of `length` Neg nodes.
Graph chain(int length) {
  Graph graph;
  ValueId value = graph.add_input("x", kPair);
  for (int i = 0; i < length; ++i) {
    const std::string name = "n" + std::to_string(i);
    value = graph.node(graph.add_node({}, "Neg", {value}, {{name, kPair}})).outputs[0];
  }
  graph.set_outputs({value});
  return graph;
}

RewriteRule cancel_negations() {
  return {
      .name = "cancel_negations",
      .summary = "",
      .benefit = 1,
      .pattern = [] { return op("Neg").with(op("Neg").with(any().as("x"))); },
      .rewrite = [](const Graph& graph, const Match& match) -> std::variant<Patch, Refusal> {
        Patch patch(graph);
        patch.replace(graph.node(match.root()).outputs[0], match.value("x"));
        return patch;
      }};
}

RewriteRule rename_operator(std::string_view name, int benefit, std::string from,
                            std::string to) {
  return {
      .name = name,
      .summary = "",
      .benefit = benefit,
      .pattern = [from] { return op(from); },
      .rewrite = [to](const Graph& graph, const Match& match) -> std::variant<Patch, Refusal> {
        const Node& node = graph.node(match.root());
        Patch patch(graph);
        patch.replace_node(node, to, node.inputs, node.attributes);
        return patch;
      }};
}

std::vector<std::string> ops_of(const Graph& graph) {
  std::vector<std::string> ops;
  for (const NodeId id : graph.topological_order()) {
    ops.push_back(graph.node(id).op);
  }
  return ops;
}

TEST(Rewrite, ReachesAFixedPointAndErasesWhatIsUnused) {
  const std::vector rules{cancel_negations()};
  const Graph graph = rewrite(chain(7), rules);
  EXPECT_EQ(ops_of(graph), std::vector<std::string>{"Neg"});
  EXPECT_EQ(graph.name(graph.outputs()[0]), "n6");
  EXPECT_EQ(graph.values().size(), 2U);
}

TEST(Rewrite, SaysWhichOperatorsANodeTookOver) {
  const std::vector rules{rename_operator("log", 2, "Neg", "Log"),
                          rename_operator("exp", 1, "Log", "Exp")};
  Graph graph = rewrite(chain(2), rules);
  const NodeId id = *graph.find_node("n1");
  EXPECT_EQ(graph.node(id).origins, (std::vector<Origin>{{"n1", "Log"}, {"n1", "Neg"}}));
  graph.set_origins(id, {{"before", "Tan"}});
  graph = rewrite(graph, std::vector{rename_operator("back", 1, "Exp", "Neg")});
  EXPECT_EQ(graph.node(*graph.find_node("n1")).origins,
            (std::vector<Origin>{{"n1", "Exp"}, {"before", "Tan"}}));
}

TEST(Rewrite, LetsTheProducerTakeOverWhatItsResultReplaces) {
  const std::vector rules{cancel_negations()};
  Graph graph;
  ValueId value = graph.add_input("x", kPair);
  constexpr int kLength = 3000;
  value = graph.node(graph.add_node({}, "Abs", {value}, {{"a", kPair}})).outputs[0];
  for (int i = 0; i < kLength; ++i) {
    const std::string name = "n" + std::to_string(i);
    value = graph.node(graph.add_node({}, "Neg", {value}, {{name, kPair}})).outputs[0];
  }
  graph.set_outputs({value});
  graph = rewrite(graph, rules);
  ASSERT_EQ(ops_of(graph), std::vector<std::string>{"Abs"});
  std::set<std::string> names;
  for (const Origin& origin : graph.node(graph.nodes()[0]).origins) {
    EXPECT_EQ(origin.op, "Neg");
    EXPECT_TRUE(names.insert(origin.name).second) << origin.name << " twice";
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kLength));
  graph = rewrite(chain(7), rules);
  EXPECT_TRUE(graph.node(graph.nodes()[0]).origins.empty()) << "inputs take nothing over";
}

TEST(Rewrite, KeepsTheNamesOfOutputs) {
  std::vector<RewriteEvent> log;
  const std::vector rules{cancel_negations()};
  const Graph graph = rewrite(chain(2), rules, &log);
  EXPECT_EQ(ops_of(graph).size(), 2U) << "the input would have become the output";
  ASSERT_EQ(log.size(), 1U);
  EXPECT_EQ(log[0].node, "n1");
  EXPECT_EQ(log[0].reason, "graph output 'n1' would be 'x' itself");
}

TEST(Rewrite, AppliesTheLargestBenefitFirstThenTheFirstName) {
  const std::vector rules{rename_operator("c", 1, "Neg", "Abs"),
                          rename_operator("b", 2, "Neg", "Exp"),
                          rename_operator("a", 2, "Neg", "Log")};
  std::vector<RewriteEvent> log;
  EXPECT_EQ(ops_of(rewrite(chain(2), rules, &log)), (std::vector<std::string>{"Log", "Log"}));
  ASSERT_EQ(log.size(), 2U);
  EXPECT_EQ(log[0].rule, "a");
  EXPECT_EQ(log[0].node, "n0");
  EXPECT_EQ(log[1].node, "n1");
}

TEST(Rewrite, ReplacementsKeepNodeAndValueNames) {
  const std::vector rules{rename_operator("r", 0, "Neg", "Abs")};
  const Graph before = chain(3);
  const Graph after = rewrite(before, rules);
  for (const NodeId id : after.nodes()) {
    EXPECT_TRUE(before.find_node(after.node(id).name));
    EXPECT_EQ(after.name(after.node(id).outputs[0]), after.node(id).name);
  }
}

TEST(Rewrite, LogsTheRefusalsThatRemain) {
  RewriteRule picky = cancel_negations();
  picky.rewrite = [](const Graph&, const Match&) { return Refusal{"not today"}; };
  std::vector<RewriteEvent> log;
  const std::vector rules{picky, rename_operator("r", 0, "Abs", "Exp")};
  Graph graph = chain(2);
  const ValueId end =
      graph.node(graph.add_node({}, "Abs", {graph.outputs()[0]}, {{"end", kPair}})).outputs[0];
  graph.set_outputs({end});
  (void)rewrite(graph, rules, &log);
  ASSERT_EQ(log.size(), 2U);
  EXPECT_EQ(log[0].rule, "r");
  EXPECT_EQ(log[0].reason, "");
  EXPECT_EQ(log[1].rule, "cancel_negations");
  EXPECT_EQ(log[1].reason, "not today");
}

TEST(Rewrite, SaysWhichRuleFailedWhere) {
  RewriteRule broken = cancel_negations();
  broken.rewrite = [](const Graph& graph, const Match& match) -> std::variant<Patch, Refusal> {
    (void)graph.node(match.root()).attributes.integer("axis");
    return Patch(graph);
  };
  try {
    const std::vector rules{broken};
    (void)rewrite(chain(2), rules);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidModel);
    EXPECT_NE(
        std::string(error.what()).find("while applying rule 'cancel_negations' at node 'n1'"),
        std::string::npos)
        << error.what();
  }
}

TEST(Rewrite, GivesUpOnRulesThatUndoEachOther) {
  const std::vector rules{rename_operator("there", 0, "Neg", "Abs"),
                          rename_operator("back", 0, "Abs", "Neg")};
  try {
    (void)rewrite(chain(1), rules);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInternal);
  }
}

TEST(Rewrite, RefusesAReplacementOfAnotherType) {
  RewriteRule wrong = cancel_negations();
  wrong.rewrite = [](const Graph& graph, const Match& match) -> std::variant<Patch, Refusal> {
    Patch patch(graph);
    patch.replace(graph.node(match.root()).outputs[0],
                  patch.add_constant("c", Tensor(DType::kFloat32, {3})));
    return patch;
  };
  const std::vector rules{wrong};
  EXPECT_THROW((void)rewrite(chain(3), rules), Error);
}

TEST(Rewrite, HandlesThousandsOfNodesInWellUnderASecond) {
  const std::clock_t start = std::clock();  // of this process, however busy the machine is
  const std::vector rules{cancel_negations(), rename_operator("r", 0, "Neg", "Abs")};
  const Graph graph = rewrite(chain(3001), rules);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_EQ(ops_of(graph), std::vector<std::string>{"Abs"});
#ifdef NDEBUG  // otherwise the graph is verified after every change
  EXPECT_LT(seconds, 0.5);
#endif
}

TEST(Patch, ErasesAChainThatLostItsReaderAndSparesSharedConstants) {
  Graph graph = parse(R"(graph "g" opset 17 (%x : f32[2]) -> (%y, %z) {
    const %shared : f32[1] = [1]
    const %own : f32[1] = [2]
    %a = Add(%x, %own) : f32[2]
    %b = Mul(%a, %shared) : f32[2]
    %y = Neg(%b) : f32[2]
    %z = Sub(%x, %shared) : f32[2]
  })");
  Patch patch(graph);
  const ValueId fresh = patch.add_constant("own", Tensor::of({1}, std::vector<float>{5}));
  patch.replace_node(graph.node(*graph.find_node("b")), "Add", {*graph.find_value("x"), fresh});
  EXPECT_EQ(patch.apply(graph).size(), 2U);
  EXPECT_EQ(print(graph), print(parse(R"(graph "g" opset 17 (%x : f32[2]) -> (%y, %z) {
    const %shared : f32[1] = [1]
    const %own : f32[1] = [5]
    %z = Sub(%x, %shared) : f32[2]
    %b = Add(%x, %own) : f32[2]
    %y = Neg(%b) : f32[2]
  })")));
}

}  // namespace
}  // namespace tare::test
