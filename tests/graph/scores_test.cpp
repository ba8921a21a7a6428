#include "graph/operators/scores.h"

#include "tare/graph.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

std::string result_of(const std::string& nodes) {
  std::string text = "graph \"g\" opset 17 (%x : f32[2,4], %p : f32[4]) -> (%y) {\n";
  const Graph graph = up_to_scores(parse(text.append(nodes).append("\n}")));
  return graph.name(graph.outputs()[0]);
}

TEST(Scores, AreWhatProbabilitiesAreComputedFrom) {
  EXPECT_EQ(result_of("%a = Relu(%x) : f32[2,4]\n%y = Softmax(%a) {axis=1} : f32[2,4]"), "a");
  EXPECT_EQ(result_of("%a = Relu(%x) : f32[2,4]\n%y = Sigmoid(%a) : f32[2,4]"), "a");
}

TEST(Scores, StandBeforeQuantizedProbabilities) {
  EXPECT_EQ(result_of("%a = Relu(%x) : f32[2,4]\n%b = Softmax(%a) {axis=1} : f32[2,4]\n"
                      "%y = FakeQuantize(%b, %p) : f32[2,4]"),
            "a");
}

TEST(Scores, AreOtherResultsThemselves) {
  EXPECT_EQ(result_of("%y = Relu(%x) : f32[2,4]"), "y");
}

}  // namespace
}  // namespace tare::test
