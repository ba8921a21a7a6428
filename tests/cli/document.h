#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace tare::test {

struct DocumentedCommand {
  std::string line;
  std::string prints{};  ///< for text_matches(); of no meaning unless `is_shown`
  bool is_shown = false;
  /// Files that the page tells the reader to write before this command: name and text.
  std::vector<std::pair<std::string, std::string>> files{};
};

/// The commands of a Markdown page in their order:
///   - lines indented by four spaces that begin with `tare `;
///   - in blocks fenced as `console`, lines after `$ `, and below them what they print on
///     standard output. There `...` on a line of its own stands for any lines and at the end of
///     a line for any text. Times stand for any, since they depend on the machine. What is
///     chosen from sums of floats depends on the instructions of the processor, so figures in
///     decibels and percent, and others with one decimal, stand for those within 0.5, and sizes
///     and figures with more decimals for those within 1 %. Everything else is as it stands
///     there.
/// A fenced block of another kind whose first line is `# NAME.SUFFIX` is the file of that name.
std::vector<DocumentedCommand> commands_of(const std::filesystem::path& page);

}  // namespace tare::test
