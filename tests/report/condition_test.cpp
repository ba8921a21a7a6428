#include "tare/error.h"
#include "tare/report.h"

#include "support/message.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr const char* kReport = R"({
  "format": "tare-report", "version": 1,
  "output": {"name": "y", "sqnr": 29.5, "exact": false},
  "top1": null,
  "metrics": {"output.kl": 0.25, "mine": null},
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

TEST(ReportCondition, ComparesAMetricByItsWholeName) {
  EXPECT_TRUE(fails("output.kl>0.2"));
  EXPECT_FALSE(fails("output.kl>0.25"));
  EXPECT_TRUE(fails("mine>0")) << "it is not defined";
  EXPECT_TRUE(fails("mine<=0")) << "it is not defined";
}

TEST(ReportCondition, KnowsTheMetricsThatWillBeThere) {
  Report known;
  known.metrics = {{"output.kl", std::nullopt}, {"recall", std::nullopt}};
  EXPECT_NO_THROW(ReportCondition("output.kl>0.2").check(known));
  EXPECT_NO_THROW(ReportCondition("recall>0.2").check(known));
  EXPECT_THROW(ReportCondition("recall>0.2").check(), Error);
  try {
    ReportCondition("recal>0.2").check(known);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "condition 'recal>0.2': the report has no field 'recal'\n"
                 "  hint: did you mean 'recall'?");
  }
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
  return message_of([&] { return ReportCondition(condition).met_by(kReport); },
                    ErrorCode::kInvalidConfig);
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

/// Found without a report, or with the names of one that is still to be measured.
std::string check_error_of(const std::string& condition, const Report& known = {}) {
  return message_of([&] { ReportCondition(condition).check(known); },
                    ErrorCode::kInvalidConfig);
}

TEST(ReportCondition, KnowsEveryFieldBeforeThereIsAReport) {
  for (const char* condition :
       {"output.sqnr<30", "top1.drop>1", "outputs[y].agreement.low<90",
        "layers[a.b[0]].cumulative.max_error.index[3]>5", "min(layers.local.sqnr)<25",
        "layers[c].weight.channels[7].sqnr<20", "layers[c].weight.axis>0",
        "layers[3].accumulator.bits_observed>24", "max(points.saturated.high)>0.1",
        "points[x].alternatives[mse].error>1", "points[x].scale[2]>1", "points[x].scale>1",
        "points[x].histogram.counts[9]>1", "points[x].channel_ratio>16", "samples[19].sqnr<3",
        "diagnosis[0].severity>0.5", "graph.nodes[c].inputs[1]>4", "data.samples<100",
        "quantized_model.bytes>1e6"}) {
    EXPECT_EQ(check_error_of(condition), "no error") << condition;
  }
}

TEST(ReportCondition, TakesTheEarlierNameOfAFieldAndWarns) {
  for (const auto& [earlier, now] :
       {std::pair("points[x].seen[1]>9", "'seen' is called 'observed' now"),
        std::pair("max(points.chosen)>9", "'chosen' is called 'calibrated' now"),
        std::pair("points[x].runners_up[mse].error>1",
                  "'runners_up' is called 'alternatives' now"),
        std::pair("max(layers.accumulator.bits_seen)>24",
                  "'bits_seen' is called 'bits_observed' now"),
        std::pair("max(layers.accumulator.bits_guaranteed)>24",
                  "'bits_guaranteed' is called 'bits_worst_case' now")}) {
    const std::vector<Warning> warnings = ReportCondition(earlier).check();
    ASSERT_EQ(warnings.size(), 1U) << earlier;
    EXPECT_EQ(warnings[0].kind, "earlier_name");
    EXPECT_EQ(warnings[0].where, "condition '" + std::string(earlier) + "'");
    EXPECT_EQ(warnings[0].what, now);
  }
  EXPECT_TRUE(ReportCondition("points[x].observed[1]>9").check().empty());
}

TEST(ReportCondition, FindsAFieldByItsEarlierNameAndInEarlierReports) {
  const std::string today = R"({"points": [{"name": "x", "observed": [-1, 3]}]})";
  const std::string earlier = R"({"points": [{"name": "x", "seen": [-1, 3]}]})";
  for (const std::string& report : {today, earlier}) {
    for (const char* condition : {"points[x].seen[1]>2", "points[x].observed[1]>2"}) {
      EXPECT_TRUE(ReportCondition(condition).met_by(report)) << condition << report;
    }
  }
}

TEST(ReportCondition, TakesAMetricWithAnEarlierNameForWhatItIs) {
  Report known;
  known.metrics = {{"seen", 1.0}};
  EXPECT_TRUE(ReportCondition("seen>0").check(known).empty());
}

TEST(ReportCondition, NamesAWrongFieldBeforeThereIsAReport) {
  EXPECT_NE(check_error_of("outptu.sqnr<30").find("did you mean 'output'?"), std::string::npos);
  EXPECT_NE(check_error_of("layers[c].locl.sqnr<3").find("did you mean 'local'?"),
            std::string::npos);
  EXPECT_NE(check_error_of("min(layers.local.sqn)<3").find("did you mean 'sqnr'?"),
            std::string::npos);
  EXPECT_NE(check_error_of("verdict.level<3").find("no number"), std::string::npos);
  EXPECT_NE(check_error_of("output[0]<3").find("no list"), std::string::npos);
}

TEST(ReportCondition, NamesAWrongLayerOnceLayersAreKnown) {
  Report known;
  known.layers.resize(2);
  known.layers[0].name = "conv1";
  known.layers[1].name = "conv2";
  EXPECT_EQ(check_error_of("layers[conv1].local.sqnr<3", known), "no error");
  EXPECT_EQ(check_error_of("layers[1].local.sqnr<3", known), "no error");
  EXPECT_NE(check_error_of("layers[cnv1].local.sqnr<3", known).find("did you mean 'conv1'?"),
            std::string::npos);
  EXPECT_NE(check_error_of("layers[2].local.sqnr<3", known).find("no entry '2'"),
            std::string::npos);
}

TEST(ReportCondition, SaysTheSameOfOneAsOfMany) {
  const std::vector<ReportCondition> conditions{
      ReportCondition("output.sqnr<30"), ReportCondition("output.kl>0.25"),
      ReportCondition("mine>0"), ReportCondition("max(layers.depth)>=3")};
  std::vector<std::string> one_by_one;
  for (const ReportCondition& condition : conditions) {
    if (const auto reason = condition.met_by(kReport)) {
      one_by_one.push_back(*reason);
    }
  }
  EXPECT_EQ(one_by_one.size(), 3U);
  EXPECT_EQ(conditions_met(conditions, kReport), one_by_one);
  EXPECT_TRUE(conditions_met({}, kReport).empty());
}

TEST(ReportCondition, RefusesWhatDoesNotReadAsOne) {
  for (const char* text :
       {"", "<", "output.sqnr", "output.sqnr<", "output.sqnr<x", "<30", "output.sqnr=30",
        "output.sqnr<30 dB", "output.sqnr<nan", "output.sqnr<inf", "min()<3"}) {
    EXPECT_THROW(ReportCondition{text}, Error) << text;
  }
}

}  // namespace
}  // namespace tare::test
