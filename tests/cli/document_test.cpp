// The commands of the documentation, run in the order of each page.
#include "cli/document.h"

#include "cli/inputs.h"
#include "cli/program.h"
#include "cli/text_match.h"
#include "support/files/files.h"
#include "support/files/models.h"
#include "support/files/temporary_folder.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPages[] = {"README.md",        "docs/guide.md",     "docs/tour.md",
                                  "docs/cookbook.md", "docs/inference.md", "docs/table.md",
                                  "docs/samples.md",  "docs/decoders.md"};

/// What a reader has at hand: the samples of the repository, and but for the guide, which makes
/// them, a model and samples under the names that the documentation gives them.
void make_readers_folder(const fs::path& folder, const std::string& page) {
  fs::copy(fs::path(TARE_SOURCE_DIR) / "data", folder / "data", fs::copy_options::recursive);
  if (page == "docs/guide.md") {
    return;
  }
  const TemporaryFolder inputs;
  make_inputs(inputs.path());
  fs::rename(inputs / "digits.onnx", folder / "model.onnx");
  fs::rename(inputs / "calibration.h5", folder / "samples.h5");
  fs::rename(inputs / "evaluation.h5", folder / "labelled.h5");
  fs::rename(inputs / "small.tflite", folder / "model.tflite");
  run_in(folder, "tare calibrate model.onnx --data labelled.h5 -o more.h5");
}

/// Networks that the tour shows at work, where they are beside the source.
void link_networks(const fs::path& folder) {
  const auto link = [&](const fs::path& file, const char* name) {
    fs::create_symlink(file, folder / name);
  };
  for (const TestModel& network : test_models()) {
    if (network.name == "kws_dscnn") {
      link(network.model, "kws_dscnn.onnx");
      link(network.calibration, "kws.h5");
      link(network.evaluation, "kws_eval.h5");
    } else if (network.name == "mobilenet") {
      link(network.model, "mobilenet.onnx");
      link(network.calibration, "images.h5");
    } else if (network.name == "sst2_op13") {
      link(network.model, "sst2.onnx");
      link(network.calibration, "sentences.h5");
      link(network.evaluation, "sst2.h5");
    }
  }
}

/// A file that the command reads and that is not there.
std::string missing_file(const std::string& command, const fs::path& folder) {
  std::istringstream words(command);
  std::string before;
  for (std::string word; words >> word; before = word) {
    const bool is_read = (word.ends_with(".onnx") || word.ends_with(".h5")) && before != "-o" &&
                         before != "--stats";
    if (is_read && !fs::exists(folder / word)) {
      return word;
    }
  }
  return "";
}

/// What the command needs that this machine does not have, such as a module of Python.
std::string missing_for(const std::string& command, const fs::path& folder) {
  std::istringstream words(command);
  std::string program;
  std::string script;
  words >> program >> script;
  if (run_in(folder, "command -v " + program).status != 0) {
    return program;
  }
  if (program != "python3") {
    return "";
  }
  std::istringstream text(bytes_of(folder / script));
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("import ") &&
        run_in(folder, "python3 -c '" + line + "'").status != 0) {
      return line.substr(7) + " of python3";
    }
  }
  return "";
}

class Page : public testing::TestWithParam<const char*> {};

TEST_P(Page, CommandsRunAndPrintWhatItShows) {
  const std::string page = GetParam();
  const TemporaryFolder temporary;
  const fs::path& folder = temporary.path();
  make_readers_folder(folder, page);
  if (page == "docs/tour.md") {
    link_networks(folder);
  }
  // Float sums of other instruction sets round differently, which can tip a decision that is
  // close. All processors that Tare runs on fast have this one.
  setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
  // Debian's python3, which has Debian's modules, before any other.
  setenv("PATH", ("/usr/bin:" + std::string(std::getenv("PATH"))).c_str(), 1);
  std::string skipped;
  const auto commands = commands_of(fs::path(TARE_SOURCE_DIR) / page);
  ASSERT_FALSE(commands.empty());
  for (const DocumentedCommand& command : commands) {
    for (const auto& [name, text] : command.files) {
      std::ofstream(folder / name) << text;
    }
    std::string missing = missing_for(command.line, folder);
    if (missing.empty() && command.is_shown && page == "docs/tour.md") {
      missing = missing_file(command.line, folder);
    }
    if (!missing.empty()) {
      skipped += "\n  " + command.line + ": no " + missing;
      continue;
    }
    const Outcome outcome = run_in(folder, command.line);
    ASSERT_EQ(outcome.status, 0) << command.line << "\n" << outcome.err;
    if (command.is_shown) {
      EXPECT_TRUE(text_matches(command.prints, outcome.out)) << command.line << "\n"
                                                             << outcome.out;
    }
  }
  if (!skipped.empty()) {
    GTEST_SKIP() << "all commands were run but these:" << skipped;
  }
}

/// What the script does after it has built the program.
TEST(Quickstart, EndsAsItsPageShows) {
  const TemporaryFolder temporary;
  const fs::path& folder = temporary.path();
  fs::create_directories(folder / "bin");
  fs::create_directories(folder / "scripts");
  fs::create_directories(folder / "build/release/bin");
  fs::copy(fs::path(TARE_SOURCE_DIR) / "data", folder / "data", fs::copy_options::recursive);
  fs::copy(fs::path(TARE_SOURCE_DIR) / "scripts/quickstart.sh", folder / "scripts");
  fs::create_symlink(fs::path(TARE_PROGRAM_FOLDER) / "tare", folder / "build/release/bin/tare");
  for (const char* done_already : {"bin/cmake", "scripts/install_dependencies.sh"}) {
    std::ofstream(folder / done_already) << "#!/bin/sh\n";
    fs::permissions(folder / done_already, fs::perms::owner_all);
  }
  const std::string shown = bytes_of(fs::path(TARE_SOURCE_DIR) / "docs/install.md");
  const std::string before = "ends with the accuracy and size of both versions:\n\n```\n";
  const std::size_t begin = shown.find(before) + before.size();
  ASSERT_GT(begin, before.size());
  std::ofstream(folder / "page.md")
      << "```console\n$ PATH=\"$PWD/bin:$PATH\" scripts/quickstart.sh\n...\n"
      << shown.substr(begin, shown.find("```", begin) - begin) << "```\n";
  const auto commands = commands_of(folder / "page.md");
  ASSERT_EQ(commands.size(), 1U);
  const Outcome outcome = run_in(folder, commands[0].line);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(text_matches(commands[0].prints, outcome.out)) << outcome.out;
}

INSTANTIATE_TEST_SUITE_P(Documentation, Page, testing::ValuesIn(kPages),
                         [](const auto& each) { return fs::path(each.param).stem().string(); });

}  // namespace
}  // namespace tare::test
