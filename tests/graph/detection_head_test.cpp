#include "graph/operators/detection_head.h"

#include "tare/graph.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using HeadNames = std::set<std::string>;

/// Two products, of which `rest` makes the outputs.
Graph detector(const std::string& outputs, const std::string& rest) {
  return parse("graph \"g\" opset 17 (%x : f32[1,8,4]) -> (" + outputs + R"() {
  const %w : f32[4,4] = [1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1]
  const %stride : f32[] = [8]
  %boxes = MatMul(%x, %w) : f32[1,8,4]
  %classes = MatMul(%x, %w) : f32[1,8,4]
)" + rest + "\n}\n");
}

HeadNames head(const Graph& graph) {
  HeadNames names;
  for (const NodeId id : detection_head(graph)) {
    names.insert(graph.node(id).name);
  }
  return names;
}

TEST(DetectionHead, IsWhatMakesBoxesAndScoresBehindTheLastProductAndWhatFollows) {
  EXPECT_EQ(head(detector("%turned", R"(
  %scores = Sigmoid(%classes) : f32[1,8,4]
  %sizes = Exp(%boxes) : f32[1,8,4]
  %pixels = Mul(%sizes, %stride) : f32[1,8,4]
  %all = Concat(%pixels, %scores) {axis=2} : f32[1,8,8]
  %turned = Transpose(%all) {perm=[0, 2, 1]} : f32[1,8,8])")),
            (HeadNames{"scores", "sizes", "pixels", "all", "turned"}));
}

TEST(DetectionHead, SeesThroughWhatMovesElements) {
  EXPECT_EQ(head(detector("%all", R"(
  %scores = Sigmoid(%classes) : f32[1,8,4]
  %flat = Transpose(%scores) {perm=[0, 2, 1]} : f32[1,4,8]
  %back = Transpose(%flat) {perm=[0, 2, 1]} : f32[1,8,4]
  %all = Concat(%boxes, %back) {axis=2} : f32[1,8,8])")),
            (HeadNames{"scores", "flat", "back", "all"}));
}

TEST(DetectionHead, IsEmptyWhereBoxesAndScoresStayApart) {
  EXPECT_EQ(head(detector("%boxes, %scores", "%scores = Sigmoid(%classes) : f32[1,8,4]")),
            HeadNames{});
}

TEST(DetectionHead, IsEmptyWhereEverythingIsAScore) {
  EXPECT_EQ(head(detector("%all", R"(
  %scores = Sigmoid(%classes) : f32[1,8,4]
  %others = Softmax(%boxes) {axis=2} : f32[1,8,4]
  %all = Concat(%others, %scores) {axis=2} : f32[1,8,8])")),
            HeadNames{});
}

TEST(DetectionHead, IsEmptyWhereAProductFollows) {
  EXPECT_EQ(head(detector("%y", R"(
  const %v : f32[8,1] = [1,1,1,1,1,1,1,1]
  %scores = Sigmoid(%classes) : f32[1,8,4]
  %all = Concat(%boxes, %scores) {axis=2} : f32[1,8,8]
  %y = MatMul(%all, %v) : f32[1,8,1])")),
            HeadNames{});
}

}  // namespace
}  // namespace tare::test
