#include "tare/error.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

TEST(Error, SaysWhereWhatExpectedWhileAndHint) {
  Error error(ErrorCode::kInvalidModel, "node 'stem' (Conv)", "weight has rank 3");
  error.expected("4").hint("check the exporter").at("net.onnx").during("importing ONNX");
  EXPECT_STREQ(error.what(),
               "net.onnx: node 'stem' (Conv): weight has rank 3, expected 4\n"
               "  while importing ONNX\n"
               "  hint: check the exporter");
}

TEST(Faults, AreReportedTogether) {
  Faults faults;
  EXPECT_NO_THROW(faults.raise(ErrorCode::kUnsupported));
  faults.add("a", "one");
  faults.add("b", "two", "three", "did you mean 'four'?");
  faults.add("c", "five");
  try {
    faults.raise(ErrorCode::kUnsupported);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_STREQ(error.what(),
                 "a: one\nb: two, expected three\n  hint: did you mean 'four'?\nc: five");
  }
}

TEST(Nearest, FindsALikelyMisspellingAndNothingElse) {
  const std::vector<std::string> known{"percentile", "max", "average_max"};
  EXPECT_EQ(nearest("percentil", known), "percentile");
  EXPECT_EQ(nearest("mx", known), "max");
  EXPECT_EQ(nearest("entropy", known), "");
  EXPECT_EQ(suggestion("mx", known), "did you mean 'max'?");
  EXPECT_EQ(suggestion("entropy", known), "");
}

}  // namespace
}  // namespace tare::test
