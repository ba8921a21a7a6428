// `tare help config` prints a configuration.
#include "cli/in_program_folder.h"
#include "support/files/files.h"

#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace tare::test {
namespace {

using Paths = std::set<std::string>;

/// The keys of a configuration of which each has a line of its own, as the reference names
/// them: "layers[].match.op".
Paths keys_of(const std::string& yaml) {
  struct Outer {
    std::size_t indent;
    std::string path;
  };
  std::vector<Outer> outer;
  Paths paths;
  std::istringstream text(yaml);
  for (std::string line; std::getline(text, line);) {
    const std::size_t indent = line.find_first_not_of(" -");
    if (indent == std::string::npos || line[indent] == '#') {
      continue;
    }
    while (!outer.empty() && outer.back().indent >= indent) {
      outer.pop_back();
    }
    const std::string name = line.substr(indent, line.find(':') - indent);
    const std::string path = outer.empty() ? name : outer.back().path + "." + name;
    paths.insert(path);
    outer.push_back({indent, path == "layers" ? "layers[]" : path});
  }
  return paths;
}

/// With the parts that are comments since they are examples.
std::string with_example(const std::string& help) {
  const std::size_t begin = help.find("\n#inputs:\n") + 1;
  return help.substr(0, begin) +
         std::regex_replace(help.substr(begin), std::regex("(^|\n)#(?=[a-z]|  )"), "$1");
}

class ConfigurationOfHelp : public InProgramFolder {
 protected:
  std::string help_ = succeed("tare help config | tee help.yaml").out;
};

TEST_F(ConfigurationOfHelp, HasEveryKeyOfTheReference) {
  const std::string reference =
      bytes_of(std::filesystem::path(TARE_SOURCE_DIR) / "docs/reference/configuration.md");
  Paths expected;
  const std::regex row("\n\\| `([^`]+)` \\|");
  for (std::sregex_iterator match(reference.begin(), reference.end(), row), end; match != end;
       ++match) {
    const std::string path = match->str(1);
    // Names of dimensions are the model's; the key of a list is that of its entries.
    const std::string key = std::regex_replace(path, std::regex("\\.NAME$|\\[\\]$"), "");
    expected.insert(std::regex_replace(key, std::regex("\\.NAME\\."), ".\"*\"."));
  }
  expected.insert("inputs.\"*\"");  // which stands for all of them
  EXPECT_GT(expected.size(), 60U);
  EXPECT_EQ(keys_of(with_example(help_)), expected);
}

TEST_F(ConfigurationOfHelp, SaysWhatHoldsWithoutIt) {
  const std::string quantize = "tare quantize digits.onnx --data calibration.h5 --quiet -o ";
  succeed(quantize + "without.onnx && " + quantize + "with.onnx --config help.yaml");
  EXPECT_EQ(bytes("with.onnx"), bytes("without.onnx"));
}

TEST_F(ConfigurationOfHelp, HasAnExampleThatIsValid) {
  // The network has no nodes that match.
  std::ofstream(folder_ / "example.yaml") << std::regex_replace(
      with_example(help_), std::regex("if_present: false"), "if_present: true");
  succeed("tare explain digits.onnx --config example.yaml");
}

}  // namespace
}  // namespace tare::test
