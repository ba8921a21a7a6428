#include "tare/equalize.h"
#include "tare/error.h"

#include <limits>

#include <gtest/gtest.h>

namespace tare {
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
  for (const char* text : {"\n", " 1\n", "a 0\n", "a -1\n", "a nan\n", "a inf\n", "a 1,5\n",
                           "a 1  2\n", "%\n", "%4\n", "%4g 1\n", "a 1e99\n"}) {
    EXPECT_THROW((void)channel_factors(text), Error) << text;
  }
}

}  // namespace
}  // namespace tare
