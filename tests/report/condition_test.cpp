#include "tare/error.h"
#include "tare/report_condition.h"

#include <gtest/gtest.h>

namespace tare {
namespace {

constexpr const char* kReport = R"({
  "format": "tare-report", "version": 1,
  "output": {"name": "y", "sqnr": 29.5, "exact": false},
  "top1": null,
  "layers": [
    {"name": "a.b[0]", "local": {"sqnr": 20.5, "exact": false}, "depth": 0},
    {"name": "c", "local": {"sqnr": 40, "exact": false}, "depth": 1},
    {"name": "d", "local": {"sqnr": null, "exact": true}, "depth": 2},
    {"name": "e", "local": null, "depth": 3}
  ]
})";

bool fails(const std::string& condition) {
  return ReportCondition(condition).met_by(kReport).has_value();
}

TEST(ReportCondition, ComparesAField) {
  EXPECT_TRUE(fails("output.sqnr<30"));
  EXPECT_FALSE(fails("output.sqnr < 29.5"));
  EXPECT_TRUE(fails("output.sqnr<=29.5"));
  EXPECT_FALSE(fails("output.sqnr>29.5"));
  EXPECT_TRUE(fails("output.sqnr>=29.5"));
  EXPECT_TRUE(fails("output.sqnr==29.5"));
  EXPECT_FALSE(fails("output.sqnr!=29.5"));
  EXPECT_FALSE(fails("output.sqnr<-1e3"));
}

TEST(ReportCondition, ChoosesAnEntryByNameOrIndex) {
  EXPECT_TRUE(fails("layers[a.b[0]].local.sqnr<21"));
  EXPECT_TRUE(fails("layers[0].local.sqnr<21"));
  EXPECT_FALSE(fails("layers[c].local.sqnr<21"));
}

TEST(ReportCondition, GoesOverListsWithMinAndMax) {
  EXPECT_TRUE(fails("min(layers.local.sqnr)<21"));
  EXPECT_FALSE(fails("min(layers.local.sqnr)<20"));
  EXPECT_TRUE(fails("max(layers.depth)>=3"));
  EXPECT_EQ(*ReportCondition("min(layers.local.sqnr)<21").met_by(kReport),
            "min(layers.local.sqnr)<21: it is 20.5 at 'a.b[0]'");
}

TEST(ReportCondition, TakesExactResultsAsInfinitelyGood) {
  EXPECT_FALSE(fails("layers[d].local.sqnr<1000"));
  EXPECT_TRUE(fails("max(layers.local.sqnr)>1000"));
}

TEST(ReportCondition, IsMetByWhatWasNotMeasured) {
  EXPECT_TRUE(fails("top1.drop>1"));
  EXPECT_TRUE(fails("layers[e].local.sqnr<0"));
}

std::string error_of(const std::string& condition) {
  try {
    (void)ReportCondition(condition).met_by(kReport);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidConfig);
    return error.what();
  }
  return "no error";
}

TEST(ReportCondition, NamesTheNearestFieldOfAWrongOne) {
  EXPECT_NE(error_of("outputs.sqnr<30").find("did you mean 'output'?"), std::string::npos);
  EXPECT_NE(error_of("output.sqn<30").find("did you mean 'sqnr'?"), std::string::npos);
  EXPECT_NE(error_of("layers[cc].depth<3").find("no entry 'cc'"), std::string::npos);
  EXPECT_NE(error_of("layers.local.sqnr<3").find("min(...)"), std::string::npos);
  EXPECT_NE(error_of("output.name<3").find("no number"), std::string::npos);
  EXPECT_NE(error_of("output[0]<3").find("no list"), std::string::npos);
  EXPECT_NE(error_of("layers[c<3").find("no ']'"), std::string::npos);
}

TEST(ReportCondition, RefusesWhatDoesNotReadAsOne) {
  for (const char* text :
       {"", "<", "output.sqnr", "output.sqnr<", "output.sqnr<x", "<30", "output.sqnr=30",
        "output.sqnr<30 dB", "output.sqnr<nan", "output.sqnr<inf", "min()<3"}) {
    EXPECT_THROW(ReportCondition{text}, Error) << text;
  }
}

}  // namespace
}  // namespace tare
