// Names come from files of anyone. However they are shown, nothing obeys them.
#include "cli/in_program_folder.h"

#include <string>
#include <vector>

namespace tare::test {
namespace {

/// The first thing in a text that a terminal or an editor would obey, or nothing. Line feeds
/// and tabs are those of the program; names have theirs spelled out.
std::string raw_control(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = [&](std::size_t at) {
      return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
    };
    const int first = byte(i);
    const int second = byte(i + 1);
    const int third = byte(i + 2);
    const bool is_c0 = (first < 0x20 && first != '\n') || first == 0x7F;
    const bool is_c1 = first == 0xC2 && second >= 0x80 && second < 0xA0;
    const bool turns = first == 0xE2 && ((second == 0x80 && third >= 0x8E && third <= 0x8F) ||
                                         (second == 0x80 && third >= 0xAA && third <= 0xAE) ||
                                         (second == 0x81 && third >= 0xA6 && third <= 0xA9));
    const bool is_no_utf8 = first == 0xFF;
    if (is_c0 || is_c1 || turns || is_no_utf8) {
      return "byte " + std::to_string(first) + " at " + std::to_string(i) + " of: " + text;
    }
  }
  return {};
}

/// Rows of cells, as RFC 4180 has it.
std::vector<std::vector<std::string>> csv_rows(const std::string& text) {
  std::vector<std::vector<std::string>> rows{{""}};
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string& cell = rows.back().back();
    if (is_quoted && text[i] == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      cell += text[++i];
    } else if (text[i] == '"') {
      is_quoted = !is_quoted;
    } else if (is_quoted || (text[i] != ',' && text[i] != '\n')) {
      cell += text[i];
    } else if (text[i] == ',') {
      rows.back().emplace_back();
    } else if (i + 1 < text.size()) {
      rows.push_back({""});
    }
  }
  return rows;
}

class Names : public InProgramFolder {
 protected:
  Names() {
    succeed("tare quantize evil.onnx --data evil.h5 -o int8.onnx --set accuracy.slowdown=0");
  }
};

// How the name begins and ends that every operator of evil.onnx has.
constexpr const char* kShown =
    "\\x1b]0;t\\x07\\x0d\\x0a\\x09\\x00\\x7f\\u009b\\u202e\\u2066\\xff,\"z";

TEST_F(Names, AreSpelledOutByEveryVerb) {
  const std::string data = " --data evil.h5 ";
  const std::vector<std::string> commands{
      "tare quantize evil.onnx" + data + "-o q.onnx",
      "tare quantize evil.onnx" + data + "-o q.onnx --json",
      "tare explain evil.onnx",
      "tare explain evil.onnx --json",
      "tare explain evil.onnx nosuch",
      "tare explain int8.onnx --target tensorrt",
      "tare inspect evil.onnx",
      "tare inspect evil.onnx --json",
      "tare inspect evil.onnx --stage simulated" + data,
      "tare inspect int8.onnx --stage integer",
      "tare accumulators int8.onnx" + data,
      "tare accumulators int8.onnx --json",
      "tare compare evil.onnx int8.onnx" + data,
      "tare compare evil.onnx int8.onnx" + data + "--json -",
      "tare compare evil.onnx int8.onnx" + data + "--fail-if 'output.sqnr<1000'",
      "tare calibrate evil.onnx" + data + "-o s.h5 --json",
      "tare search evil.onnx" + data + "-o z.onnx --require 'output.sqnr>=300'",
      "tare search evil.onnx" + data + "-o z.onnx --require 'output.sqnr>=300' --json",
      "tare run evil.onnx" + data + "-o r.h5"};
  for (const std::string& command : commands) {
    const Outcome outcome = run(command);
    EXPECT_LE(outcome.status, 2) << command << "\n" << outcome.err;
    EXPECT_EQ(raw_control(outcome.out), "") << command;
    EXPECT_EQ(raw_control(outcome.err), "") << command;
  }
  // Long names have "..." for their middle there.
  const std::string begin = std::string(kShown).substr(0, 14);
  for (const std::string& verb :
       std::vector<std::string>{"explain evil.onnx", "compare evil.onnx int8.onnx" + data}) {
    EXPECT_NE(succeed("tare " + verb).out.find(begin), std::string::npos) << verb;
  }
}

TEST_F(Names, AreNotCutOffAtANul) {
  const Outcome outcome = run("tare run evil.onnx --data evil.h5 -o r.h5");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("\\x00\\x7f"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("NUL byte"), std::string::npos) << outcome.err;
  succeed(
      "tare calibrate evil.onnx --data evil.h5 -o s.h5; "
      "tare quantize evil.onnx --stats s.h5 -o q.onnx");
}

TEST_F(Names, OfATableAreReadBack) {
  succeed("tare quantize evil.onnx --data evil.h5 -o q.onnx --table t.yaml");
  EXPECT_EQ(raw_control(bytes("t.yaml")), "");
  EXPECT_NE(bytes("t.yaml").find("\\u202e"), std::string::npos);
  succeed("tare quantize evil.onnx --table t.yaml -o again.onnx");
  EXPECT_TRUE(bytes("again.onnx") == bytes("q.onnx"));
}

TEST_F(Names, OfATableAreYamlForOthersToo) {
  if (run("python3 -c 'import yaml'").status != 0) {
    GTEST_SKIP() << "no other reader of YAML here";
  }
  succeed("tare quantize evil.onnx --data evil.h5 -o q.onnx --table t.yaml");
  const Outcome outcome = succeed(
      "python3 -c 'import yaml; print(sum(chr(0x202e) in p[\"name\"] and chr(0) in p[\"name\"] "
      "for p in yaml.safe_load(open(\"t.yaml\"))[\"points\"]) > 2)'");
  EXPECT_EQ(outcome.out, "True\n");
}

TEST_F(Names, InSpreadsheetsAreTextAndNotFormulas) {
  succeed("tare compare evil.onnx int8.onnx --data evil.h5 --csv r.csv");
  EXPECT_EQ(raw_control(bytes("r.csv")), "");
  const auto rows = csv_rows(bytes("r.csv"));
  ASSERT_GT(rows.size(), 3U);
  bool shows_name = false;
  for (const auto& row : rows) {
    EXPECT_EQ(row.size(), rows[0].size());
    for (const std::string& cell : row) {
      const bool is_number = cell.find_first_not_of("0123456789.e+-") == std::string::npos;
      EXPECT_TRUE(is_number || cell.empty() || std::string("=+-@").find(cell[0]) > 3) << cell;
      shows_name = shows_name || cell == "'=1+1" + std::string(kShown);
    }
  }
  EXPECT_TRUE(shows_name) << bytes("r.csv");
}

TEST_F(Names, InReportsAreEscaped) {
  succeed("tare compare evil.onnx int8.onnx --data evil.h5 --json r.json --report r.html");
  EXPECT_EQ(raw_control(bytes("r.json")), "");
  EXPECT_NE(bytes("r.json").find("\\u009b\\u202e"), std::string::npos);
  const std::string page = bytes("r.html");
  const std::size_t data = page.find("id=\"report-data\"");
  ASSERT_NE(data, std::string::npos);
  // The page shows what JSON makes of its strings: a backslash that stays.
  EXPECT_NE(page.find("\\\\u001b]0;t\\\\u0007", data), std::string::npos);
  EXPECT_NE(page.find("\\\\u009b\\\\u202e", data), std::string::npos);
  succeed("tare diff r.json r.json");
}

TEST_F(Names, SurviveTheTextualForm) {
  const Outcome outcome = succeed("tare inspect evil.onnx");
  EXPECT_NE(outcome.out.find("\\xc2\\x9b\\xe2\\x80\\xae\\xe2\\x81\\xa6\\xff"),
            std::string::npos)
      << outcome.out;
}

}  // namespace
}  // namespace tare::test
