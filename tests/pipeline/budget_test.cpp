#include "tare/error.h"
#include "tare/search.h"

#include "support/message.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

TEST(BudgetTexts, HaveBytesWithUnitsOperationsWithUnitsAndShares) {
  EXPECT_FALSE(read_budget({}).is_set());
  const auto size = [](const char* text) { return read_budget({text}).size; };
  EXPECT_EQ(size("size=500kB"), (BudgetLimit{500e3, false}));
  EXPECT_EQ(size("size=0.5MB"), (BudgetLimit{500e3, false}));
  EXPECT_EQ(size("size=2MiB"), (BudgetLimit{2 * 1024 * 1024, false}));
  EXPECT_EQ(size("size=60%"), (BudgetLimit{0.6, true}));
  const auto operations = [](const char* text) { return read_budget({text}).bit_operations; };
  EXPECT_EQ(operations("bops=1.5G"), (BudgetLimit{1.5e9, false}));
  EXPECT_EQ(operations("bops=20000"), (BudgetLimit{20000, false}));
  EXPECT_EQ(operations("bops=3T"), (BudgetLimit{3e12, false}));
  EXPECT_EQ(operations("bops=12.5%"), (BudgetLimit{0.125, true}));
  const Budget both = read_budget({"bops=50%", "size=1MB"});
  EXPECT_TRUE(both.size && both.bit_operations);
}

TEST(BudgetTexts, ThatAreNoneAreAllNamed) {
  EXPECT_EQ(
      message_of(
          [] {
            (void)read_budget({"size=5", "speed=3", "bops=1.5GB", "bops=0"});
          },
          ErrorCode::kInvalidConfig),
      "budget 'size=5': is not understood, expected a size such as 500kB, 0.5MB, 2MiB or 60%\n"
      "budget 'speed=3': limits nothing that is known, expected size=BYTES or bops=NUMBER\n"
      "budget 'bops=1.5GB': is not understood, expected a number of bit operations such as "
      "1.5G, or a share such as 50%\n"
      "budget 'bops=0': is not understood, expected a number of bit operations such as 1.5G, "
      "or a share such as 50%");
  for (const char* text : {"size=-5%", "size=nan%", "size=%", "size=", "size",
                           "bops=", "bops=G", "bops=1Gi", "bops=-1G", "bops=inf", "bops=nan"}) {
    EXPECT_THROW((void)read_budget({text}), Error) << text;
  }
}

TEST(BudgetTexts, AreOneOfAKind) {
  EXPECT_EQ(message_of(
                [] {
                  (void)read_budget({"size=5MB", "size=6MB"});
                },
                ErrorCode::kInvalidConfig),
            "budget 'size=6MB': says again what another one says");
}

}  // namespace
}  // namespace tare::test
