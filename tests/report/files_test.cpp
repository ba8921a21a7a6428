#include "support/files/files.h"

#include "tare/error.h"
#include "tare/report.h"

#include "support/files/folder.h"

#include <cmath>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tare::test {
namespace {

using Json = nlohmann::ordered_json;

Deviation deviation(double sqnr) {
  return {.sqnr = sqnr,
          .exact = false,
          .cosine = 0.5,
          .mse = 0.25,
          .relative_l2 = 0.125,
          .largest = LargestError{
              .value = 3, .sample = 7, .index = {0, 2}, .real = 1, .quantized = 4}};
}

Report some_report() {
  Report report;
  report.real = {.file = "m.onnx", .bytes = 10, .operators = 3};
  report.quantized = {.file = "q.onnx", .bytes = 5, .operators = 4, .integer_operators = 2};
  report.samples = 9;
  report.outputs = {{"good", deviation(30), Proportion{8, 9}}, {"bad", deviation(10), {}}};
  LayerReport& layer = report.layers.emplace_back();
  layer.name = "a,\"b\"";
  layer.op = "Conv";
  layer.local = deviation(20);
  layer.cumulative = Deviation{.exact = true};
  layer.point = "p";
  PointReport& point = report.points.emplace_back();
  point.name = "p";
  point.calibrator = "mse";
  point.params.scale = {0.5F};
  return report;
}

TEST(ReportJson, HasTheFieldsOfTheSchema) {
  const Json json = Json::parse(report_json(some_report()));
  EXPECT_EQ(json["format"], "tare-report");
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["output"]["name"], "bad");
  EXPECT_EQ(json["outputs"][0]["agreement"]["count"], 8);
  EXPECT_EQ(json["layers"][0]["local"]["sqnr"], 20);
  EXPECT_EQ(json["layers"][0]["local"]["max_error"]["index"], (Json{0, 2}));
  EXPECT_TRUE(json["layers"][0]["cumulative"]["sqnr"].is_null());
  EXPECT_EQ(json["layers"][0]["cumulative"]["exact"], true);
  EXPECT_TRUE(json["layers"][0]["runs_as"].is_null());
  EXPECT_TRUE(json["top1"].is_null());
  EXPECT_EQ(json["points"][0]["scale"], 0.5);
}

TEST(ReportJson, WritesNullForWhatIsNotFinite) {
  Report report = some_report();
  report.worst_samples = {{3, -std::numeric_limits<double>::infinity(), {}}};
  report.points[0].effective_bits = std::numeric_limits<double>::quiet_NaN();
  const Json json = Json::parse(report_json(report));
  EXPECT_TRUE(json["samples"][0]["sqnr"].is_null());
  EXPECT_TRUE(json["points"][0]["effective_bits"].is_null());
}

TEST(ReportCsv, HasARowForEachLayerWithAsManyCellsAsTheHead) {
  const std::string text = report_csv(some_report());
  const std::size_t end = text.find('\n');
  const std::string head = text.substr(0, end);
  std::string row = text.substr(end + 1);
  EXPECT_TRUE(row.starts_with("\"a,\"\"b\"\"\",Conv,"));
  row.erase(0, std::string("\"a,\"\"b\"\"\"").size());
  EXPECT_EQ(std::count(row.begin(), row.end(), ','), std::count(head.begin(), head.end(), ','));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

TEST(ReportOverlay, HasTheErrorOfEachLayerByItsResult) {
  Report report = some_report();
  report.layers.push_back(report.layers[0]);
  report.layers[0].result = "y";
  report.layers[0].local->sqnr = 12.5;
  report.layers[1].result = "exact";
  report.layers[1].local->sqnr.reset();
  const Json json = Json::parse(report_overlay(report));
  EXPECT_EQ(json["results"], (Json{{"y", {{"value", 12.5}}}}));
  double last = -std::numeric_limits<double>::infinity();
  for (const Json& threshold : json["thresholds"]) {
    EXPECT_GT(threshold["value"], last);
    last = threshold["value"];
    EXPECT_EQ(threshold["bgColor"].get<std::string>().size(), 7U);
  }
  EXPECT_GE(last, 1000) << "as long as there is a value, it has a colour";
}

class ReportFiles : public InFolder {
 protected:
  std::filesystem::path written(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
};

TEST_F(ReportFiles, AreOfTheKindThatTheirNameSays) {
  EXPECT_EQ(report_format("a.json"), ReportFormat::kJson);
  EXPECT_EQ(report_format("a.overlay.json"), ReportFormat::kOverlay);
  EXPECT_EQ(report_format("a.csv"), ReportFormat::kCsv);
  EXPECT_EQ(report_format("a.b.html"), ReportFormat::kHtml);
  EXPECT_THROW((void)report_format("a.txt"), Error);
  EXPECT_THROW((void)report_format("json"), Error);
  write_report(path("r.json"), some_report(), ReportFormat::kJson);
  EXPECT_EQ(bytes_of(path("r.json")), report_json(some_report()));
}

TEST_F(ReportFiles, DifferInWhatChanged) {
  const Report before = some_report();
  Report after = before;
  after.outputs[1].error.sqnr = 25;
  after.layers[0].local->sqnr = 24;
  after.layers.push_back(before.layers[0]);
  after.layers[1].name = "new";
  after.points[0].params.scale = {0.25F};
  after.diagnoses = {{.kind = "mask", .layer = "new"}};
  const Json json = Json::parse(compare_reports(written("a.json", report_json(before)),
                                                written("b.json", report_json(after))));
  EXPECT_EQ(json["outputs"]["both"][1]["sqnr"], (Json{{"from", 10}, {"to", 25}}));
  EXPECT_EQ(json["layers"]["appeared"], (Json{"new"}));
  EXPECT_TRUE(json["layers"]["vanished"].empty());
  ASSERT_EQ(json["layers"]["changed"].size(), 1U);
  EXPECT_EQ(json["layers"]["changed"][0]["local"], (Json{{"from", 20}, {"to", 24}}));
  EXPECT_FALSE(json["layers"]["changed"][0].contains("cumulative"));
  EXPECT_EQ(json["points"]["changed"][0]["scale"], (Json{{"from", 0.5}, {"to", 0.25}}));
  EXPECT_EQ(json["diagnosis"]["appeared"][0]["kind"], "mask");
}

TEST_F(ReportFiles, OfAnotherKindAreRefused) {
  const auto good = written("good.json", report_json(some_report()));
  for (
      const char* text :
      {"", "{", "[]", "7", "null", "\xff\xfe", R"({"format": "tare-report"})",
       R"({"format": "tare-report", "version": 2})", R"({"format": "other", "version": 1})",
       R"({"format": "tare-report", "version": 1, "outputs": [], "layers": [3], "points": []})",
       R"({"format": "tare-report", "version": 1, "outputs": [], "layers": [{}], "points": []})",
       R"({"format": "tare-report", "version": 1, "outputs": {}, "layers": [], "points": []})"}) {
    const auto bad = written("bad.json", text);
    EXPECT_THROW((void)compare_reports(bad, good), Error) << text;
    EXPECT_THROW((void)compare_reports(good, bad), Error) << text;
  }
  EXPECT_THROW((void)compare_reports(good, path("missing.json")), Error);
  EXPECT_THROW((void)compare_reports(good, path("")), Error);
}

TEST_F(ReportFiles, WithFieldsOfOtherTypesGiveNoCrash) {
  const auto good = written("good.json", report_json(some_report()));
  Json odd = Json::parse(report_json(some_report()));
  odd["layers"][0]["local"] = {"list"};
  odd["layers"][0]["cumulative"]["sqnr"] = "text";
  odd["points"][0]["scale"] = Json::object();
  odd["verdict"] = 3;
  odd["top1"] = "none";
  odd["outputs"][0]["agreement"] = true;
  odd["diagnosis"] = {3, {{"kind", 4}}, nullptr};
  const auto bad = written("odd.json", odd.dump());
  EXPECT_FALSE(compare_reports(good, bad).empty());
  EXPECT_FALSE(compare_reports(bad, good).empty());
}

}  // namespace
}  // namespace tare::test
