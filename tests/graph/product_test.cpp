#include "tare/accumulator.h"
#include "tare/error.h"

#include <gtest/gtest.h>

namespace tare {
namespace {

SumRange sums_of(const std::string& x, const std::string& w, const std::string& product) {
  return worst_case_accumulators(
             parse("graph \"g\" opset 17 (%x : u8" + x + " q(1, 0)) -> (%y) {\nconst %w : i8" +
                   w +
                   " q(1, 0) = []\nconst %b : i32[4] q(1, 0) = [-5, 1, 2, 3]\n"
                   "%y = " +
                   product + " q(1, 0)\n}"))
      .at(0)
      .range;
}

TEST(WorstCaseAccumulators, WithoutWeightsAreTheBiases) {
  const SumRange biases{-5, 3};
  EXPECT_EQ(sums_of("[1,0]", "[0,4]", "Gemm(%x, %w, %b) : i32[1,4]"), biases);
  EXPECT_EQ(sums_of("[1,0,3]", "[0,4,1]", "ConvTranspose(%x, %w, %b) : i32[1,4,3]"), biases);
  EXPECT_EQ(sums_of("[1,0,3]", "[4,0,1]", "Conv(%x, %w, %b) : i32[1,4,3]"), biases);
}

TEST(WorstCaseAccumulators, RefuseWeightsThatDoNotFallIntoGroups) {
  const std::string text =
      "graph \"g\" opset 17 (%x : u8[1,3,2] q(1, 0)) -> (%y) {\n"
      "const %w : i8[3,1,1] q(1, 0) = [1, 2, 3]\n"
      "up: %y = ConvTranspose(%x, %w) {group=2} : i32[1,2,2] q(1, 0)\n}";
  try {
    (void)worst_case_accumulators(parse(text));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.faults().front().where, "node 'up'");
    EXPECT_EQ(error.faults().front().what, "weight [3,1,1] does not fall into 2 groups");
  }
}

}  // namespace
}  // namespace tare
