// Sequences whose length is known and optional values: operators on them vanish when a model is
// read.
#include "tare/execute.h"

#include "onnx/model_builder.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using Names = std::vector<std::string>;

/// x of [6,4] in pieces along the first axis, of which nothing is read yet.
ModelBuilder in_pieces(const Attributes& attributes = {}) {
  ModelBuilder model(13);
  model.input("x", {6, 4})
      .constant("first", Tensor::scalar<std::int64_t>(0))
      .constant("last", Tensor::scalar<std::int64_t>(-1))
      .constant("four", Tensor::scalar<std::int64_t>(4))
      .node("SplitToSequence", {"x"}, {"pieces"}, attributes);
  return model;
}

TEST(Sequences, OfASplitAreTakenApartAndJoined) {
  ModelBuilder model = in_pieces();
  model.node("SequenceAt", {"pieces", "first"}, {"a"})
      .node("SequenceAt", {"pieces", "last"}, {"b"})
      .node("SequenceConstruct", {"b", "a"}, {"both"})
      .node("ConcatFromSequence", {"both"}, {"y"}, {{"axis", std::int64_t{1}}})
      .output("y");
  const Graph graph = model.read();
  EXPECT_EQ(operators(graph), (Names{"Split", "Identity", "Identity", "Concat"}));
  EXPECT_EQ(shape_of(graph, "y"), (Shape{1, 8}));
  const Node& concat = only(graph, "Concat");
  EXPECT_EQ(graph.name(concat.inputs[0]), "b");
}

TEST(Sequences, HaveALastPieceThatIsShorter) {
  ModelBuilder model = in_pieces();
  model.graph().mutable_node(0)->add_input("four");
  model.node("SequenceAt", {"pieces", "last"}, {"y"}).output("y");
  EXPECT_EQ(shape_of(model.read(), "y"), (Shape{2, 4}));
}

TEST(Sequences, MayHaveElementsWithoutTheAxisThatWasSplit) {
  ModelBuilder model = in_pieces({{"axis", std::int64_t{-1}}, {"keepdims", std::int64_t{0}}});
  model.node("SequenceAt", {"pieces", "first"}, {"y"})
      .node("ConcatFromSequence", {"pieces"}, {"z"},
            {{"axis", std::int64_t{0}}, {"new_axis", std::int64_t{1}}})
      .output("y")
      .output("z");
  const Graph graph = model.read();
  EXPECT_EQ(shape_of(graph, "y"), (Shape{6}));
  EXPECT_EQ(shape_of(graph, "z"), (Shape{4, 6}));
}

TEST(Sequences, GrowAndShrinkAndKnowTheirLength) {
  ModelBuilder model = in_pieces();
  model.node("SequenceErase", {"pieces"}, {"five"})
      .node("SequenceErase", {"five", "first"}, {"fewer"})
      .node("SequenceInsert", {"fewer", "x", "first"}, {"again"})
      .node("SequenceLength", {"again"}, {"length"})
      .node("SequenceAt", {"again", "first"}, {"y"})
      .node("SequenceEmpty", {}, {"none"})
      .node("SequenceLength", {"none"}, {"nothing"})
      .output("length")
      .output("y")
      .output("nothing");
  const Graph graph = model.read();
  EXPECT_EQ(graph.constant(graph.outputs()[0])->to_int64(), (std::vector<std::int64_t>{5}));
  EXPECT_EQ(graph.name(only(graph, "Identity").inputs[0]), "x");
  EXPECT_EQ(graph.constant(graph.outputs()[2])->to_int64(), (std::vector<std::int64_t>{0}));
}

TEST(Sequences, AreReadWithinTheirBounds) {
  ModelBuilder model = in_pieces();
  model.constant("ninth", Tensor::scalar<std::int64_t>(9))
      .node("SequenceAt", {"pieces", "ninth"}, {"y"})
      .output("y");
  EXPECT_EQ(complaint(model),
            "node 'SequenceAt_y' (SequenceAt): position 9 of a sequence of 6");
}

TEST(Sequences, AreMappedElementByElement) {
  ModelBuilder model(17);
  model.input("x", {2, 4})
      .constant("first", Tensor::scalar<std::int64_t>(0))
      .node("SequenceConstruct", {"x", "x"}, {"both"})
      .node("SequenceMap", {"both", "x"}, {"sums"});
  set_body(model.last(),
           inner_graph({"element", "other"}, {{"Add", {"element", "other"}, "sum"}}, {"sum"}));
  model.node("ConcatFromSequence", {"sums"}, {"y"}, {{"axis", std::int64_t{0}}}).output("y");
  const Graph graph = model.read();
  EXPECT_EQ(operators(graph), (Names{"Add", "Add", "Concat"}));
  EXPECT_EQ(shape_of(graph, "y"), (Shape{4, 4}));
}

TEST(Sequences, MayGrowInLoopsWhoseEndIsKnown) {
  ModelBuilder model(13);
  model.input("x", {2, 4})
      .integers("three", {3})
      .constant("yes", Tensor::scalar(true))
      .node("SequenceEmpty", {}, {"none"})
      .node("Loop", {"three", "yes", "none"}, {"all"});
  set_body(model.last(), inner_graph({"i", "on", "list"},
                                     {{"Tanh", {"x"}, "element"},
                                      {"SequenceInsert", {"list", "element"}, "longer"},
                                      {"Identity", {"on"}, "still"}},
                                     {"still", "longer"}));
  model.node("ConcatFromSequence", {"all"}, {"y"}, {{"axis", std::int64_t{0}}}).output("y");
  const Graph graph = model.read({.evaluate = evaluate});
  EXPECT_EQ(shape_of(graph, "y"), (Shape{6, 4}));
  const Names all = operators(graph);
  EXPECT_EQ(std::count(all.begin(), all.end(), "Tanh"), 3);
  EXPECT_EQ(std::count(all.begin(), all.end(), "Loop"), 0);
}

/// 250 iterations of 250 each of two nodes: every loop by itself is small.
TEST(Sequences, DoNotGrowInLoopsInsideOfLoopsWithoutBound) {
  ModelBuilder model(13);
  model.input("x", {2, 4})
      .integers("many", {250})
      .constant("yes", Tensor::scalar(true))
      .node("SequenceEmpty", {}, {"none"})
      .node("Loop", {"many", "yes", "none"}, {"all"});
  onnx::GraphProto outer =
      inner_graph({"i", "on", "list"},
                  {{"Loop", {"many", "yes", "list"}, "longer"}, {"Identity", {"on"}, "still"}},
                  {"still", "longer"});
  set_body(*outer.mutable_node(0), inner_graph({"k", "goes_on", "inner"},
                                               {{"SequenceInsert", {"inner", "x"}, "more"},
                                                {"Identity", {"goes_on"}, "still_on"}},
                                               {"still_on", "more"}));
  set_body(model.last(), outer);
  model.node("ConcatFromSequence", {"all"}, {"y"}, {{"axis", std::int64_t{0}}}).output("y");
  const std::string text = complaint(model, {.evaluate = evaluate});
  EXPECT_NE(text.find("nodes in all loops together"), std::string::npos) << text;
}

TEST(Sequences, OfOptionalValuesAreTheValuesThemselves) {
  ModelBuilder model(15);
  model.input("x", {2, 4})
      .node("Optional", {"x"}, {"maybe"})
      .node("OptionalHasElement", {"maybe"}, {"is_there"})
      .node("OptionalGetElement", {"maybe"}, {"value"})
      .node("Relu", {"value"}, {"y"})
      .output("y")
      .output("is_there");
  const Graph graph = model.read();
  EXPECT_EQ(operators(graph), (Names{"Identity", "Identity", "Relu"}));
  EXPECT_EQ(graph.constant(graph.outputs()[1])->to_int64(), (std::vector<std::int64_t>{1}));
}

TEST(Sequences, AreNoResultsOfAGraph) {
  ModelBuilder model = in_pieces();
  model.output("pieces");
  EXPECT_EQ(complaint(model),
            "SplitToSequence: its result is no tensor (node 'SplitToSequence_pieces')");
}

}  // namespace
}  // namespace tare::test
