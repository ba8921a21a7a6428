
#include "tare/quant_table.h"
#include "tare/quantize.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

std::vector<std::string> broken(const std::string& constants, const std::string& call,
                                const std::string& result = "f32[1,2,3,3]") {
  std::vector<std::string> lines;
  for (const Warning& warning :
       invalid_constants(parse("graph \"g\" opset 17 (%x : f32[1,2,3,3]) -> (%y) {\n" +
                               constants + "\nn: %y = " + call + " : " + result + "\n}"))) {
    lines.push_back(warning.where + ": " + warning.what);
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(InvalidConstants, AreNaNAndInfinityInWeightsAndBiases) {
  const std::string good = "const %b : f32[2] = [1, 2]\n";
  EXPECT_EQ(broken("const %w : f32[2,2,1,1] = [1, nan, nan, 2]\n" + good, "Conv(%x, %w, %b)"),
            Lines{"constant 'w' of node 'n' (Conv): 2 of 4 numbers are NaN"});
  EXPECT_EQ(broken("const %w : f32[2,2,1,1] = [1, 2, 3, 4]\nconst %b : f32[2] = [1, nan]",
                   "Conv(%x, %w, %b)"),
            Lines{"constant 'b' of node 'n' (Conv): 1 of 2 numbers is NaN"});
  EXPECT_EQ(broken("const %w : f32[2,2,1,1] = [1, inf, 3, -inf]\n" + good, "Conv(%x, %w, %b)"),
            Lines{"constant 'w' of node 'n' (Conv): 2 of 4 numbers are infinite"});
  EXPECT_TRUE(
      broken("const %w : f32[2,2,1,1] = [1, 2, 3, 4]\n" + good, "Conv(%x, %w, %b)").empty());
  EXPECT_EQ(broken("const %w : f16[1] = [nan]", "Cast(%w) {to=1}", "f32[1]").size(), 1U);
}

TEST(InvalidConstants, AreVariancesThatEpsilonLeavesAtNothing) {
  const auto norm = [](const std::string& variances, const std::string& epsilon) {
    return broken(
        "const %s : f32[2] = [1, 1]\nconst %b : f32[2] = [0, 0]\n"
        "const %m : f32[2] = [0, 0]\nconst %v : f32[2] = [" +
            variances + "]",
        "BatchNormalization(%x, %s, %b, %m, %v) {epsilon=" + epsilon + "}");
  };
  EXPECT_EQ(norm("1, -1", "1e-05"),
            Lines{"constant 'v' of node 'n' (BatchNormalization): 1 of 2 numbers is a variance "
                  "that is not above 0"});
  EXPECT_EQ(norm("0, 0", "0.0").size(), 1U);
  EXPECT_TRUE(norm("0, -1e-09", "1e-05").empty());
}

TEST(InvalidConstants, AreNotTheInfinitiesOfMasksNorWhatIsLookedFor) {
  EXPECT_TRUE(
      broken("const %m : f32[3,3] = [0, -inf, -inf, 0, 0, -inf, 0, 0, 0]", "Add(%x, %m)")
          .empty());
  EXPECT_TRUE(
      broken("const %c : bool[1] = [true]\nconst %m : f32[1] = [-inf]", "Where(%c, %x, %m)")
          .empty());
  EXPECT_TRUE(
      broken("const %c : bool[1] = [true]\nconst %m : f32[1] = [nan]", "Where(%c, %x, %m)")
          .empty());
  EXPECT_EQ(broken("const %m : f32[1] = [nan]", "Add(%x, %m)").size(), 1U);
}

}  // namespace
}  // namespace tare::test
