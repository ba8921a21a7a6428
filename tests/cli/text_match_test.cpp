#include "cli/text_match.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

TEST(TextMatch, TakesNumbersThatAreNear) {
  EXPECT_TRUE(text_matches("SQNR {near 42.2 0.5} dB\n", "SQNR 42.7 dB\n"));
  EXPECT_TRUE(text_matches("SQNR {near -42.2 0.5} dB\n", "SQNR -41.7 dB\n"));
  EXPECT_TRUE(text_matches("{near 136.3 1%} KiB\n", "137.6 KiB\n"));
  EXPECT_TRUE(text_matches("{any}{near 2.6 0.5} {near 3 0.5}{any}\n", "      2.4 3.1 dB\n"));
}

TEST(TextMatch, RefusesNumbersThatAreNot) {
  EXPECT_FALSE(text_matches("SQNR {near 42.2 0.5} dB\n", "SQNR 42.9 dB\n"));
  EXPECT_FALSE(text_matches("{near 136.3 1%} KiB\n", "143.0 KiB\n"));
  EXPECT_FALSE(text_matches("{near 42.2 0.5} dB\n", "inf dB\n"));
  EXPECT_FALSE(text_matches("{near 42.2 0.5} dB\n", "dB\n"));
  EXPECT_FALSE(text_matches("{near 42.2 0.5} dB\n", "42.2 KiB\n"));
}

TEST(TextMatch, TakesAnyTextWithinALineAndAnyLines) {
  EXPECT_TRUE(text_matches("a{any}c\n{lines}\nz\n", "abc\nd\ne\nz\n"));
  EXPECT_FALSE(text_matches("a{any}c\nz\n", "ab\nc\nz\n"));
}

}  // namespace
}  // namespace tare::test
