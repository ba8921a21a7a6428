#include "base/natural_order.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

TEST(NaturalOrder, CountsAsPeopleDo) {
  const std::vector<std::string> sorted{
      "",     "0",     "1",      "2",   "10",  "99999999999999999999",
      "a",    "a0",    "a00",    "a1",  "a1b", "a01c",
      "a2",   "a02b9", "a02b10", "a10", "b",   "b_1",
      "b_02", "b_3"};
  std::mt19937 random(1);
  for (int i = 0; i < 20; ++i) {
    std::vector<std::string> names = sorted;
    std::shuffle(names.begin(), names.end(), random);
    std::sort(names.begin(), names.end(), comes_before);
    EXPECT_EQ(names, sorted);
  }
}

TEST(NaturalOrder, TellsNamesFromTheirNumbers) {
  EXPECT_EQ(before_number("sample_012"), "sample_");
  EXPECT_EQ(before_number("7"), "");
  EXPECT_EQ(before_number("layer1_x"), "layer1_x");
  EXPECT_EQ(before_number(""), "");
}

}  // namespace
}  // namespace tare::test
