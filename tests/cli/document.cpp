#include "cli/document.h"

#include <fstream>
#include <regex>

namespace tare {
namespace {

/// As text_matches() wants it.
std::string pattern_of(const std::string& printed) {
  static const std::regex kLines(R"( *\.\.\.)");
  static const std::regex kRest(R"(\.\.\.$)");
  static const std::regex kVaries(R"(-?[0-9.]+(?= (dB|s|seconds|KiB)\b))");
  if (std::regex_match(printed, kLines)) {
    return "{lines}";
  }
  return std::regex_replace(std::regex_replace(printed, kRest, "{any}"), kVaries, "{any}");
}

class Reader {
 public:
  void read(const std::string& line) {
    if (line.starts_with("```")) {
      is_fenced_ = !is_fenced_;
      fence_ = line.substr(3);
      file_ = nullptr;
      is_first_ = true;
    } else if (!is_fenced_) {
      if (line.starts_with("    tare ")) {
        add({.line = line.substr(4)});
      }
    } else if (fence_ == "console") {
      read_console(line);
    } else {
      read_file(line);
    }
  }

  std::vector<DocumentedCommand> commands() && { return std::move(commands_); }

 private:
  void add(DocumentedCommand command) {
    command.files = std::move(files_);
    files_.clear();
    commands_.push_back(std::move(command));
  }

  void read_console(const std::string& line) {
    if (line.starts_with("$ ")) {
      add({.line = line.substr(2), .is_shown = true});
    } else {
      commands_.back().prints += pattern_of(line) + "\n";
    }
  }

  void read_file(const std::string& line) {
    static const std::regex kName(R"(# ([a-z_]+\.[a-z]+))");
    std::smatch name;
    if (is_first_ && std::regex_match(line, name, kName)) {
      file_ = &files_.emplace_back(name[1], "").second;
    }
    is_first_ = false;
    if (file_ != nullptr) {
      *file_ += line + "\n";
    }
  }

  std::vector<DocumentedCommand> commands_;
  std::vector<std::pair<std::string, std::string>> files_;  // since the last command
  std::string fence_;
  std::string* file_ = nullptr;
  bool is_fenced_ = false;
  bool is_first_ = false;
};

}  // namespace

std::vector<DocumentedCommand> commands_of(const std::filesystem::path& page) {
  std::ifstream file(page);
  Reader reader;
  for (std::string line; std::getline(file, line);) {
    reader.read(line);
  }
  return std::move(reader).commands();
}

}  // namespace tare
