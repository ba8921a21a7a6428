
#include "tare/error.h"

#include <string>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

TEST(Text, ThatIsReadableIsShownAsItIs) {
  for (const std::string text :
       {"", "conv_1/BiasAdd:0", "C:\\models", "zwölf", "卷积", "\U0001F600", "a b", "~"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_EQ(printable_lines(text), text);
    EXPECT_EQ(json_escaped(text), text);
  }
}

TEST(Text, ShowsControlCharactersByNumber) {
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\x1b[2J\a\r\n\t\x7f"), "\\x1b[2J\\x07\\x0d\\x0a\\x09\\x7f");
  EXPECT_EQ(printable("\u0080\u009f\u00a0"), "\\u0080\\u009f\u00a0");
  EXPECT_EQ(printable_lines("\x1b a\n\tb\r"), "\\x1b a\n\tb\\x0d");
}

TEST(Text, ShowsWhatTurnsTheDirectionOrIsNotSeen) {
  for (const char* hidden :
       {"\u00ad", "\u061c", "\u200b", "\u200e", "\u200f", "\u2028", "\u2029", "\u202a",
        "\u202e", "\u2060", "\u2066", "\u2069", "\ufeff"}) {
    const std::string shown = printable(hidden);
    EXPECT_EQ(shown.size(), 6U) << shown;
    EXPECT_EQ(shown.substr(0, 2), "\\u");
    EXPECT_EQ(json_escaped(hidden), shown);
  }
  EXPECT_EQ(printable("\u202e"), "\\u202e");
  EXPECT_EQ(printable("\U000e0041"), "\\U000e0041");
  EXPECT_EQ(json_escaped("\U000e0041"), "\\udb40\\udc41");
}

TEST(Text, ShowsBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("a\xff"), "a\\xff");
  EXPECT_EQ(printable("\xe4\xb8"), "\\xe4\\xb8");           // cut off
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(Text, InBytesCanBeReadBackByteByByte) {
  EXPECT_EQ(printable_bytes("\u0085\u202e\x01\xff ok"),
            "\\xc2\\x85\\xe2\\x80\\xae\\x01\\xff ok");
}

TEST(Text, AsAScalarOfYamlHoldsPrintableCharactersOnly) {
  EXPECT_EQ(yaml_scalar("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(yaml_scalar(std::string("\0\n\x1b", 3)), R"("\x00\x0a\x1b")");
  EXPECT_EQ(yaml_scalar("\u0085\u2028\xff"), "\"\\u0085\\u2028\u00ff\"");
  EXPECT_EQ(yaml_scalar("\x85"), R"("\u0085")");
}

}  // namespace
}  // namespace tare::test
