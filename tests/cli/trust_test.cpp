// docs/security.md: what files from others can make the program and its reports do.

#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/model_files.h"
#include "tare/quantize.h"

#include "cli/in_program_folder.h"
#include "pipeline/store/search_checkpoint.h"
#include "support/config.h"
#include "support/files/damaged_name.h"
#include "support/text.h"

#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

namespace tare::test {
namespace {

class TrustInCheckpoints : public InProgramFolder {
 protected:
  /// One that somebody else made for the command of search(): its digest and its identity are
  /// right, since both are easily computed.
  SearchCheckpoint foreign() const {
    const auto data = open_dataset(folder_ / "calibration.h5");
    Config config = config_with({});
    config.samples = 12;
    SearchCheckpoint result;
    result.identity =
        search_identity(load_model(folder_ / "digits.onnx", {}, data.get()), *data, config, {});
    result.plans = {
        {.plan = {.float_nodes = {}, .nanoseconds = 1, .error = 0.1}},
        {.plan = {.float_nodes = {"/classifier/Gemm"}, .nanoseconds = 2, .error = 0.01}}};
    return result;
  }

  /// A search that finds this one. A program that waits for something is ended.
  Outcome search(const SearchCheckpoint& checkpoint) const {
    write_search_checkpoint(folder_ / "out.onnx.checkpoint", checkpoint);
    return run(
        "timeout 60 tare search digits.onnx --data calibration.h5 --samples 12 -o out.onnx "
        "--require 'output.sqnr>=10'");
  }
};

TEST_F(TrustInCheckpoints, NamesOfFilesAreNotFollowed) {
  // Whoever opens a pipe for reading waits for somebody who writes.
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  succeed("cp digits.onnx kept.onnx");
  SearchCheckpoint checkpoint = foreign();
  checkpoint.written = 0;
  checkpoint.files = {{"pipe", 1}, {(folder_ / "pipe").string(), 2}, {"kept.onnx", 3}};
  const Outcome outcome = search(checkpoint);
  EXPECT_LE(outcome.status, 1) << outcome.err;
  EXPECT_EQ(bytes("kept.onnx"), bytes("digits.onnx"));
}

TEST_F(TrustInCheckpoints, ReportsThatAreNoneAreNamed) {
  for (const char* report : {"x", "[]", "null", "{\"outputs\": [3]}"}) {
    SearchCheckpoint checkpoint = foreign();
    checkpoint.plans[0].report = report;
    const Outcome outcome = search(checkpoint);
    EXPECT_EQ(outcome.status, 2) << report << outcome.err;
    EXPECT_NE(outcome.err.find("is not a search checkpoint, or is damaged"), std::string::npos)
        << outcome.err;
  }
}

/// The least that is a report, and values of other types than those of reports.
TEST_F(TrustInCheckpoints, ReportsOfAnythingAreEvaluatedOrRefused) {
  for (const char* outputs :
       {"[]", R"([{"name": "o"}])", R"([{"name": "o", "sqnr": "high"}])",
        R"([{"name": "o", "sqnr": [1, 2]}])", R"([{"name": "o", "sqnr": -1e308}])"}) {
    SearchCheckpoint checkpoint = foreign();
    checkpoint.plans[0].report =
        R"({"format": "tare-report", "version": 1, "layers": [], "points": [], "outputs": )" +
        std::string(outputs) + R"(, "output": )" + std::string(outputs) + "}";
    const Outcome outcome = search(checkpoint);
    EXPECT_LE(outcome.status, 2) << outputs << outcome.err;
  }
}

TEST_F(TrustInCheckpoints, NumbersAndNamesOfAnyKindAreTriedOrRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::set<std::string>& names :
       {std::set<std::string>{"no such layer"}, {"*"}, {"\xff\n: }", ""}}) {
    SearchCheckpoint checkpoint = foreign();
    for (RecordedPlan& searched : checkpoint.plans) {
      searched.plan = {.float_nodes = names,
                       .nanoseconds = nan,
                       .error = -1,
                       .integer_share = -std::numeric_limits<double>::infinity()};
    }
    const Outcome outcome = search(checkpoint);
    EXPECT_LE(outcome.status, 2) << outcome.err;
  }
}

/// Files that end a process that opens them.
class TrustInHdf5 : public InProgramFolder {
 protected:
  TrustInHdf5() {
    succeed("tare calibrate digits.onnx --data calibration.h5 --samples 4 -o statistics.h5");
    succeed("tare quantize digits.onnx --data calibration.h5 --samples 4 -o q.onnx");
    damage("calibration.h5", "samples_damaged.h5");
    damage("statistics.h5", "statistics_damaged.h5");
  }
  void damage(const std::string& from, const std::string& to) const {
    std::ofstream(folder_ / to, std::ios::binary) << with_damaged_name(bytes(from));
  }
};

TEST_F(TrustInHdf5, EveryVerbRefusesFilesThatEndTheLibrary) {
  for (const std::string command :
       {"accumulators q.onnx --data samples", "calibrate digits.onnx -o s.h5 --data samples",
        "compare digits.onnx q.onnx --data samples", "evaluate q.onnx --data samples",
        "explain digits.onnx --data samples", "inspect digits.onnx --data samples",
        "merge -o s.h5 statistics", "merge -o s.h5 statistics.h5 statistics",
        "quantize digits.onnx -o o.onnx --data samples",
        "quantize digits.onnx -o o.onnx --stats statistics",
        "quantize digits.onnx -o o.onnx --data calibration.h5 --eval samples",
        "run q.onnx -o o.h5 --data samples",
        "search digits.onnx -o o.onnx --require 'output.sqnr>1' --data samples"}) {
    const Outcome outcome = run("tare " + command + "_damaged.h5");
    EXPECT_EQ(outcome.status, 2) << command << "\n" << outcome.err;
    EXPECT_NE(outcome.err.find("_damaged.h5: "), std::string::npos) << outcome.err;
  }
}

TEST_F(TrustInHdf5, ACheckpointThatEndsTheLibraryIsLeftAside) {
  damage("statistics.h5", "again.h5.checkpoint");
  succeed("tare calibrate digits.onnx --data calibration.h5 --samples 4 -o again.h5");
  EXPECT_EQ(bytes("again.h5"), bytes("statistics.h5"));
}

class TrustInReports : public InProgramFolder {
 protected:
  /// The report of a network whose layers have that name.
  std::string page(const std::string& name) const {
    write_onnx(parse("graph \"g\" opset 17 (%x : f32[1,4]) -> (%y) {\n"
                     "const %w : f32[4,4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2]\n"
                     "\"" +
                     name + "\": %\"" + name + "\" = MatMul(%x, %w) : f32[1,4]\n" +
                     "s: %y = Softmax(%\"" + name + "\") : f32[1,4]\n}"),
               folder_ / "named.onnx");
    succeed(
        "tare quantize named.onnx --data evil.h5 -o q.onnx "
        "--set objective=coverage --report r.html --report r.json");
    return bytes("r.html");
  }
};

TEST_F(TrustInReports, NamesOfAModelAreTextAndNotMarkup) {
  const std::string plain = page("conv");
  const std::string sly = page(
      "</script><script>fetch(1)</script><img src=http://a.example/x onerror=alert(1)>"
      "<link rel=stylesheet href=//b.example/y>");
  for (const char* markup :
       {"<script", "</script", "<img", "<link", "<iframe", "<style", "<meta", "<a "}) {
    EXPECT_EQ(count_of(sly, markup), count_of(plain, markup)) << markup;
  }
  // It does get there.
  EXPECT_NE(sly.find("\\u003cimg src=http://a.example/x"), std::string::npos);
}

TEST_F(TrustInReports, APageLoadsNothingFromAnywhere) {
  const std::string text = page("conv");
  // Browsers see to it as well: whatever is not in the page has no permission.
  EXPECT_NE(text.find("default-src 'none'"), std::string::npos);
  for (const char* load : {" src=", "rel=\"stylesheet\"", "@import", "fetch(", "XMLHttpRequest",
                           "import(", "WebSocket", "sendBeacon", "url(http", "href=\"http"}) {
    EXPECT_EQ(count_of(text, load), 0U) << load;
  }
}

TEST_F(TrustInReports, DiffReadsOnesOfOthersAndLeavesAllAsItWas) {
  (void)page("conv");
  succeed(
      "echo '{}' > empty.json; echo '[[[' > broken.json; head -c 400 r.json > half.json; sed "
      "'s/\"name\": \"[^\"]*\"/\"name\": \"`touch hit`$(touch hit)\"/' r.json > odd.json");
  const auto before = contents();
  for (const char* other : {"r.html", "empty.json", "broken.json", "half.json"}) {
    const Outcome outcome = run(std::string("tare diff r.json ") + other);
    EXPECT_EQ(outcome.status, 2) << other << outcome.err;
  }
  EXPECT_NE(succeed("tare diff r.json odd.json").out.find("touch hit"), std::string::npos);
  EXPECT_TRUE(contents() == before);
}

}  // namespace
}  // namespace tare::test
