// What a terminal gets that pipes and files do not: styles, and lines of its width.
#include "cli/in_program_folder.h"

#include <algorithm>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace tare::test {
namespace {

constexpr const char* kQuantize =
    "tare quantize digits.onnx --data calibration.h5 --samples 8 ";

class OnATerminal : public InProgramFolder {
 protected:
  /// What a terminal of so many columns is told by the command, with lines as a file has them.
  std::string told(const std::string& command, int columns = 100) const {
    const Outcome outcome =
        run("cat > command <<'END'\nstty cols " + std::to_string(columns) + "\n" + command +
            "\nEND\nTERM=xterm script -qc 'sh command' /dev/null");
    return std::regex_replace(outcome.out, std::regex("\r\n"), "\n");
  }

  /// The same without progress and styles, line by line.
  std::vector<std::string> lines(const std::string& command, int columns) const {
    std::string all = told(command, columns);
    for (const char* unseen : {"\r\x1b\\[K[^\r\n]*(?=\r)", "\r\x1b\\[K", "\x1b\\[[0-9;]*m"}) {
      all = std::regex_replace(all, std::regex(unseen), "");
    }
    std::istringstream text(all);
    std::vector<std::string> result;
    for (std::string line; std::getline(text, line);) {
      result.push_back(line);
    }
    return result;
  }
};

bool has_styles(const std::string& text) {
  return std::regex_search(text, std::regex("\x1b\\[[0-9;]*m"));
}

TEST_F(OnATerminal, ErrorsAndHintsAreInColour) {
  const std::string text = told("tare quantise");
  EXPECT_NE(text.find("\x1b[1;31mtare: error:\x1b[0m unknown verb 'quantise'\n"
                      "  \x1b[1;36mhint:\x1b[0m did you mean 'quantize'?\n"),
            std::string::npos)
      << text;
}

TEST_F(OnATerminal, VerdictsAndHeadingsAreInColour) {
  const std::string text = told(std::string(kQuantize) + "-o o.onnx --eval evaluation.h5");
  EXPECT_NE(text.find("\x1b[1;33mtare: warning:\x1b[0m"), std::string::npos) << text;
  EXPECT_NE(text.find("\x1b[1mdigits.onnx -> o.onnx\x1b[0m\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\x1b[32mgood.\x1b[0m "), std::string::npos) << text;
  EXPECT_TRUE(has_styles(told("tare help")));
}

TEST_F(OnATerminal, NoColorAndDumbTerminalsHaveNoStyles) {
  EXPECT_FALSE(has_styles(told("NO_COLOR=1 tare quantise")));
  EXPECT_FALSE(has_styles(told("TERM=dumb tare help")));
  EXPECT_TRUE(has_styles(told("NO_COLOR= tare quantise"))) << "an empty NO_COLOR asks nothing";
  // A terminal that cannot clear a line would keep every bar.
  EXPECT_EQ(told("TERM=dumb tare run digits.onnx --data evaluation.h5 -o o.h5").find('\r'),
            std::string::npos);
}

TEST_F(OnATerminal, QuietAndJsonPrintWhatAPipeGets) {
  succeed(std::string(kQuantize) + "-o int8.onnx");
  for (const std::string command :
       {"tare explain digits.onnx --quiet", "tare explain int8.onnx --json",
        "tare evaluate int8.onnx --data evaluation.h5 --quiet", "tare help --quiet",
        "tare accumulators int8.onnx --quiet", "tare explain digits.onnx missing --quiet"}) {
    const Outcome piped = run(command);
    EXPECT_EQ(told(command, 60), piped.out + piped.err) << command;
  }
}

TEST_F(OnATerminal, LinesFitIt) {
  succeed(std::string(kQuantize) + "-o int8.onnx");
  const std::vector<std::string> commands{
      "tare help",
      "tare help quantize",
      "tare help config",
      "tare explain digits.onnx",
      std::string(kQuantize) + "-o o.onnx",
      "tare compare digits.onnx int8.onnx --data evaluation.h5",
      "tare explain digits.onnx --config faults.yaml"};
  for (const std::string& command : commands) {
    for (const int columns : {50, 80, 120}) {
      bool is_example = false;  // these stay as they are typed
      for (const std::string& line : lines(command, columns)) {
        is_example = is_example || line == "examples:";
        EXPECT_TRUE(is_example || line.size() <= static_cast<std::size_t>(columns))
            << columns << ": " << line;
      }
    }
  }
}

TEST_F(OnATerminal, LongNamesLoseTheirMiddleWhereItIsNarrow) {
  const auto has = [](const std::vector<std::string>& all, const std::string& words) {
    return std::any_of(all.begin(), all.end(), [&](const std::string& line) {
      return line.find(words) != std::string::npos;
    });
  };
  EXPECT_TRUE(has(lines("tare explain digits.onnx", 100), "/inverted1/depthwise/conv/Conv "));
  EXPECT_TRUE(has(lines("tare explain digits.onnx", 50), "/invert...se/conv/Conv "));
}

TEST_F(OnATerminal, BarsFitOneLineAndLeaveNothingBehind) {
  const std::string text =
      told("tare run digits.onnx --data evaluation.h5 -o o.h5 --threads 1", 40);
  const std::regex bar("\r\x1b\\[K([^\r\n]*)");
  std::size_t bars = 0;
  for (std::sregex_iterator match(text.begin(), text.end(), bar), end; match != end; ++match) {
    EXPECT_LT(match->str(1).size(), 40U) << match->str(1);
    bars += match->str(1).starts_with("running") ? 1 : 0;
  }
  EXPECT_GT(bars, 0U);
  EXPECT_TRUE(std::regex_search(
      text, std::regex("\r\x1b\\[Kwrote the results of [0-9]+ runs to o.h5\n$")))
      << text;
}

TEST_F(OnATerminal, TheTableOfASearchBeginsALineOfItsOwn) {
  const std::string text = told(
      "tare search digits.onnx --data calibration.h5 --samples 12 -o o.onnx --require "
      "'output.sqnr>=1'");
  EXPECT_TRUE(std::regex_search(text, std::regex("\r\x1b\\[K\x1b\\[1m *time  in int8")))
      << text;
}

}  // namespace
}  // namespace tare::test
