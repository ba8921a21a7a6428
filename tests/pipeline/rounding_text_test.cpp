#include "pipeline/store/rounding_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tare::test {
namespace {

using Steps = std::vector<std::int8_t>;

TEST(RoundingText, SpellsThreeWeightsWithOneLetter) {
  EXPECT_EQ(rounding_letters({}), "");
  EXPECT_EQ(rounding_letters(Steps{0, 0, 0}), "N");
  EXPECT_EQ(rounding_letters(Steps{-1, -1, -1, 1, 1, 1}), "A+");
  // 2 + 3 * 1 + 9 * 0 = 5, then 1 + 3 * 0 + 9 * 1 = 10.
  EXPECT_EQ(rounding_letters(Steps{1, 0, -1, 0, -1}), "FK");
}

TEST(RoundingText, SpellsEachWeightWithTwoLettersWhereOneIsFurtherFromTheNearest) {
  EXPECT_EQ(rounding_letters(Steps{0, 2, -1}), "NNPNMN");
  // 14 is 1 of 27 and -13 more.
  EXPECT_EQ(rounding_letters(Steps{13, 14, -14}), "+NAO+M");
}

RC_GTEST_PROP(RoundingText, IsReadBackAsItWasWritten, ()) {
  const int most = *rc::gen::element(1, 2, 127);
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-most, most + 1));
  const Steps rounding(steps.begin(), steps.end());
  RC_ASSERT(parse_rounding(rounding_letters(rounding), rounding.size()) == rounding);
}

TEST(RoundingText, IsRefusedWhereItDoesNotFitTheWeights) {
  EXPECT_FALSE(parse_rounding("NN", 3));
  EXPECT_FALSE(parse_rounding("N", 4));
  EXPECT_FALSE(parse_rounding("n", 3));
  EXPECT_FALSE(parse_rounding("N N", 9));
  EXPECT_FALSE(parse_rounding("A", 2)) << "says something of a third weight";
  EXPECT_FALSE(parse_rounding("NNNn", 2));
  EXPECT_FALSE(parse_rounding("A+", 1)) << "338, which is no int8";
  EXPECT_EQ(parse_rounding("", 0), Steps{});
}

}  // namespace
}  // namespace tare::test
