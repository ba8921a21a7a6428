#include "io/yaml_document.h"

#include "tare/error.h"

#include <random>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

TEST(YamlScalar, IsReadBack) {
  for (const std::string text :
       {"", "conv1/weight", "a: b # c", "null", "1e5", "\"\\'", "line\nline\r\ttab", "\x7f\x01",
        " \u00e4\u4e2d\U0001F600 ", "- {[", "\u0085\u2028\ufeff", "%&*!|>@`"}) {
    EXPECT_EQ(as_characters(text), text);
    EXPECT_EQ(parse_yaml(yaml_scalar(text), {"t"}).text, text);
    EXPECT_EQ(parse_yaml("{a: " + yaml_scalar(text) + "}", {"t"}).entries.at(0).second.text,
              text);
  }
}

TEST(YamlScalar, OfAnyBytesIsReadBackAsCharacters) {
  EXPECT_EQ(as_characters("a\xff"), "a\u00ff");
  EXPECT_EQ(as_characters("\xe4\xb8"), "\u00e4\u00b8");            // cut off
  EXPECT_EQ(as_characters("\xc0\xaf"), "\u00c0\u00af");            // overlong
  EXPECT_EQ(as_characters("\xed\xa0\x80"), "\u00ed\u00a0\u0080");  // a surrogate
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (int k = 0; k < 20; ++k) {
      text += static_cast<char>(random());
    }
    EXPECT_EQ(parse_yaml(yaml_scalar(text), {"t"}).text, as_characters(text));
  }
}

}  // namespace
}  // namespace tare::test
