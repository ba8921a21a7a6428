#include "cli/document.h"

#include <fstream>
#include <regex>

namespace tare::test {
namespace {

/// What stands for a number that the page shows, by what follows it.
std::string pattern_of_number(const std::string& number, const std::string& rest) {
  static const std::regex kTime(R"( (s|seconds|ms|us)\b.*)");
  static const std::regex kBytes(R"( (B|KiB|MiB|bytes)\b.*)");
  static const std::regex kHalf(R"( (dB|%).*)");
  const std::size_t point = number.find('.');
  if (std::regex_match(rest, kTime)) {
    return "{any}";
  }
  if (std::regex_match(rest, kBytes)) {
    return "{near " + number + " 1%}";
  }
  if (point == std::string::npos && !std::regex_match(rest, kHalf)) {
    return number;
  }
  const bool is_rough = point == std::string::npos || number.size() - point == 2;
  return "{near " + number + (is_rough ? " 0.5}" : " 1%}");
}

/// As text_matches() wants it.
std::string pattern_of(const std::string& printed) {
  static const std::regex kLines(R"( *\.\.\.)");
  static const std::regex kNumber(R"((  +)?(-?[0-9]+(\.[0-9]+)?))");
  if (std::regex_match(printed, kLines)) {
    return "{lines}";
  }
  const bool goes_on = printed.ends_with("...");
  const std::string text = printed.substr(0, printed.size() - (goes_on ? 3 : 0));
  std::string pattern;
  std::size_t done = 0;
  for (std::sregex_iterator found(text.begin(), text.end(), kNumber), end; found != end;
       ++found) {
    const auto begin = static_cast<std::size_t>(found->position());
    const std::string number = pattern_of_number((*found)[2], found->suffix());
    pattern += text.substr(done, begin - done);
    // Columns are as wide as their numbers.
    pattern +=
        number == (*found)[2] ? found->str() : ((*found)[1].matched ? "{any}" : "") + number;
    done = begin + static_cast<std::size_t>(found->length());
  }
  return pattern + text.substr(done) + (goes_on ? "{any}" : "");
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

}  // namespace tare::test
