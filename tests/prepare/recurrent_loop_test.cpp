// What golden files cannot show of recurrent_loop: how long it looks at loops that are large.
#include "tare/graph.h"
#include "tare/pattern.h"

#include "prepare/rule_registry.h"
#include "support/graphs.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

std::vector<RewriteRule> rule() {
  std::vector<RewriteRule> found;
  std::copy_if(prepare_rules().begin(), prepare_rules().end(), std::back_inserter(found),
               [](const RewriteRule& each) { return each.name == "recurrent_loop"; });
  return found;
}

/// Why the loop stays one.
std::string refusal(const Graph& graph) {
  std::vector<RewriteEvent> log;
  EXPECT_TRUE(rewrite(graph, rule(), &log) == graph);
  return log.empty() ? "" : log.back().reason;
}

/// A loop over an RNN of 2 features. `body` computes %goes_on, and %sum, whose Tanh is the
/// state.
Graph loop(const std::string& body, const std::string& most) {
  std::string text =
      "graph \"body\" opset 17 (%i : i64[], %c : bool[], %h : f32[1,2], %x : f32[4,1,2]) -> "
      "(%goes_on, %h2) {\n"
      "  const %w : f32[4,2] = [1, 2, 3, 4, 5, 6, 7, 8]\n"
      "  %xt = Gather(%x, %i) {axis=0} : f32[1,2]\n"
      "  %side = Concat(%xt, %h) {axis=1} : f32[1,4]\n"
      "  %p = MatMul(%side, %w) : f32[1,2]\n" +
      body + "  %h2 = Tanh(%sum) : f32[1,2]\n}\n";
  for (std::size_t at = 0; (at = text.find_first_of("\"\n", at)) != std::string::npos;
       at += 2) {
    text.replace(at, 1, text[at] == '\n' ? "\\n" : "\\\"");
  }
  return parse(
      "graph \"g\" opset 17 (%x : f32[4,1,2], %h : f32[1,2]) -> (%y) {\n"
      "  const %most : i64[] = [" +
      most + "]\n  %y = Loop(%most, _, %h, %x) {body=\"" + text +
      "\", captured=[\"x\"]} : f32[1,2]\n}");
}

const std::string kPlain =
    "  %goes_on = Identity(%c) : bool[]\n  %sum = Identity(%p) : f32[1,2]\n";

TEST(RecurrentLoop, IsALayerWhereItReadsEachElement) {
  const Graph after = rewrite(loop(kPlain, "4"), rule());
  EXPECT_EQ(count_of(after, "RNN"), 1U);
  EXPECT_EQ(count_of(after, "Loop"), 0U);
}

TEST(RecurrentLoop, StaysWhereItLeavesElementsOut) {
  EXPECT_EQ(refusal(loop(kPlain, "3")), "it does not read the whole sequence");
}

TEST(RecurrentLoop, StaysWhereValuesEndIt) {
  EXPECT_EQ(refusal(loop("  %m = ReduceMax(%h) {keepdims=0} : f32[]\n"
                         "  %goes_on = Less(%m, %m) : bool[]\n"
                         "  %sum = Identity(%p) : f32[1,2]\n",
                         "4")),
            "how often it runs depends on more than constants");
}

TEST(RecurrentLoop, IsNotCountedForLong) {
  EXPECT_EQ(refusal(loop(kPlain, "1000000000")), "it runs more than 16384 times");
}

TEST(RecurrentLoop, IsRefusedAtOnceWhereSumsDouble) {
  std::string body = "  %goes_on = Identity(%c) : bool[]\n  %s0 = Add(%p, %p) : f32[1,2]\n";
  for (int i = 1; i < 60; ++i) {  // 2^60 products
    const std::string before = "%s" + std::to_string(i - 1);
    body += "  %s" + std::to_string(i) + " = Add(" + before + ", " + before + ") : f32[1,2]\n";
  }
  EXPECT_EQ(refusal(loop(body + "  %sum = Identity(%s59) : f32[1,2]\n", "4")),
            "its body is no LSTM, GRU or RNN");
}

}  // namespace
}  // namespace tare::test
