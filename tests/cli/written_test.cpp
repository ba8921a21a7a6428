// What the program writes about itself for shells and for man, against what its help says.
#include "cli/program.h"
#include "support/files/temporary_folder.h"

#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tare::test {
namespace {

namespace fs = std::filesystem;
using Words = std::set<std::string>;

Outcome run(const std::string& command) {
  return run_in(TemporaryFolder().path(), command);
}

Words lines(const std::string& text) {
  std::istringstream stream(text);
  Words result;
  for (std::string line; std::getline(stream, line);) {
    result.insert(line);
  }
  return result;
}

/// The first group of every match.
Words found(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  Words result;
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end;
       ++match) {
    result.insert(match->str(1));
  }
  return result;
}

Words verbs() {
  const std::string help = run("tare help").out;
  const std::size_t begin = help.find("[options]\n");
  return found(help.substr(begin, help.find("\nhelp:\n") - begin), "\n  ([a-z]+)");
}

Words options(const std::string& verb) {
  return found(run("tare help " + verb).out, "\n  (?:-[a-z], |    )(--[a-z0-9-]+)");
}

/// What bash offers for the last of the words, which it would split like this; "(files)" where
/// it completes names of files itself.
Words in_bash(const std::string& words) {
  const Outcome outcome =
      run("bash --norc <<'END'\ncompopt() { [[ $* = '-o default' ]] && "
          "COMPREPLY=('(files)'); }\n"
          "source <(tare completion bash)\nCOMP_WORDS=(" +
          words + ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n" +
          "$(complete -p tare | sed 's/.*-F \\([^ ]*\\) .*/\\1/')\n" +
          "[[ ! ${COMPREPLY[*]} ]] || printf '%s\\n' \"${COMPREPLY[@]}\"\n"
          "END");
  EXPECT_EQ(outcome.err, "");
  return lines(outcome.out);
}

Words in_fish(const std::string& line) {
  const Outcome outcome =
      run("export HOME=$PWD; touch samples.h5; fish --no-config -c \"tare completion fish | "
          "source; complete -C '" +
          line + "'\"");
  return found("\n" + outcome.out, "\n([^\t\n]+)");
}

bool has(const std::string& program) {
  return run("command -v " + program).status == 0;
}

TEST(Completion, OffersTheVerbsInBash) {
  Words expected = verbs();
  ASSERT_EQ(expected.count("quantize"), 1U);
  expected.insert({"help", "--help", "--version"});
  EXPECT_EQ(in_bash("tare ''"), expected);
  EXPECT_EQ(in_bash("tare qu"), Words{"quantize"});
}

TEST(Completion, OffersEveryOptionOfEachVerbInBash) {
  for (const std::string& verb : verbs()) {
    EXPECT_EQ(in_bash("tare " + verb + " --"), options(verb)) << verb;
  }
}

TEST(Completion, OffersChoicesInBash) {
  const Words forms{"qdq", "qoperator"};
  EXPECT_EQ(in_bash("tare quantize model.onnx --form q"), forms);
  EXPECT_EQ(in_bash("tare quantize model.onnx --form = q"), forms);
  EXPECT_EQ(in_bash("tare quantize --form = "), (Words{"integer", "qdq", "qoperator"}));
  EXPECT_EQ(in_bash("tare explain --target tens"), Words{"tensorrt"});
  EXPECT_EQ(in_bash("tare completion ''"), (Words{"bash", "fish", "zsh"}));
  EXPECT_EQ(in_bash("tare help conf"), Words{"config"});
}

TEST(Completion, LeavesNamesOfFilesToBash) {
  const Words files{"(files)"};
  EXPECT_EQ(in_bash("tare quantize ''"), files);
  EXPECT_EQ(in_bash("tare quantize model.onnx --data sam"), files);
  EXPECT_EQ(in_bash("tare quantize model.onnx --data = sam"), files);
  EXPECT_EQ(in_bash("tare quantize model.onnx -o ''"), files);
}

TEST(Completion, OffersNothingForNumbersInBash) {
  EXPECT_EQ(in_bash("tare quantize --threads ''"), Words{});
  EXPECT_EQ(in_bash("tare quantize --set ''"), Words{});
}

TEST(Completion, OffersTheSameInFish) {
  if (!has("fish")) {
    GTEST_SKIP() << "no fish here";
  }
  EXPECT_EQ(in_fish("tare qu"), Words{"quantize"});
  for (const std::string& verb : verbs()) {
    EXPECT_EQ(in_fish("tare " + verb + " --"), options(verb)) << verb;
  }
  EXPECT_EQ(in_fish("tare quantize --form q"), (Words{"qdq", "qoperator"}));
  EXPECT_EQ(in_fish("tare quantize --data sam"), Words{"samples.h5"});
  EXPECT_EQ(in_fish("tare quantize --threads "), Words{});
}

TEST(Completion, IsOneThatZshCanRead) {
  if (!has("zsh")) {
    GTEST_SKIP() << "no zsh here";
  }
  const Outcome outcome = run(
      "tare completion zsh > _tare && zsh -f -c 'fpath=($PWD $fpath); autoload -U compinit; "
      "compinit -D -u; autoload +X _tare; print $_comps[tare]'");
  EXPECT_EQ(outcome.out, "_tare\n");
  EXPECT_EQ(outcome.err, "");
}

TEST(ManPage, ExplainsEveryOptionOfEachVerb) {
  const std::string page =
      std::regex_replace(run("tare help man").out, std::regex("\\\\-"), "-");
  for (const std::string& verb : verbs()) {
    const std::size_t begin = page.find(".SS \"" + verb + "\"\n");
    ASSERT_NE(begin, std::string::npos) << verb;
    const std::string section = page.substr(begin, page.find("\n.S", begin) - begin);
    EXPECT_EQ(found(section, "\\\\fB(--[a-z0-9-]+)\\\\fR"), options(verb)) << verb;
  }
}

TEST(HelpAsJson, HasEveryVerbWithItsOptions) {
  const auto help = nlohmann::json::parse(run("tare help --json").out);
  Words named;
  for (const auto& verb : help["verbs"]) {
    named.insert(verb["name"].get<std::string>());
    Words spelled;
    for (const auto& option : verb["options"]) {
      spelled.insert("--" + option["name"].get<std::string>());
    }
    EXPECT_EQ(spelled, options(verb["name"])) << verb["name"];
    EXPECT_FALSE(verb["examples"].empty()) << verb["name"];
  }
  EXPECT_EQ(named, verbs());
  EXPECT_GT(help["configuration"].size(), 50U);
}

TEST(ManPage, IsWithoutFault) {
  if (!has("man")) {
    GTEST_SKIP() << "no man here";
  }
  const Outcome outcome = run("tare help man | LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l -");
  EXPECT_EQ(outcome.err, "");
  EXPECT_NE(outcome.out.find("--form NAME"), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace tare::test
