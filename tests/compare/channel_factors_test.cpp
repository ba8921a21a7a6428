#include "tare/error.h"
#include "tare/quant_table.h"

#include "equalize/equalize.h"

#include <limits>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

TEST(ChannelFactors, SurviveTheirTextToTheLastBit) {
  const ChannelFactors factors{
      {"a", {1, 0.1F, 0x1.fffffep-1F, std::numeric_limits<float>::denorm_min()}},
      {"name with\nspaces, 100 % and \xc3\xa4", {0.5F}},
      {"none", {}}};
  EXPECT_EQ(channel_factors(text_of(factors)), factors);
  EXPECT_TRUE(channel_factors("").empty());
  EXPECT_EQ(text_of({}), "");
}

TEST(ChannelFactors, AreRefusedWhenTheirTextIsDamaged) {
  const std::string good = text_of({{"a", {0.5F, 0.25F}}});
  EXPECT_EQ(channel_factors(good).size(), 1U);
  const std::string zero = text_of({{"a", {0}}});
  const std::string negative = text_of({{"a", {-1}}});
  const std::string infinite = text_of({{"a", {std::numeric_limits<float>::infinity()}}});
  const std::string nan = text_of({{"a", {std::numeric_limits<float>::quiet_NaN()}}});
  for (const std::string& text :
       {std::string("\n"), std::string(" AAAA\n"), std::string("a A\n"), std::string("a !\n"),
        std::string("%\n"), std::string("%4\n"), std::string("%4g \n"), "b" + good.substr(0, 6),
        good + "x x", zero, negative, infinite, nan}) {
    EXPECT_THROW((void)channel_factors(text), Error) << text;
  }
}

}  // namespace
}  // namespace tare::test
