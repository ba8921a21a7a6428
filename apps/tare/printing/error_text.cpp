#include "printing/error_text.h"

#include "printing/layout.h"

#include <algorithm>

namespace tare::cli {
namespace {

constexpr std::string_view kHint = "  hint: ";

/// Each fault's line gets the prefix; "  while" and "  hint" lines follow as they are.
std::string line_text(const std::string& line, const std::string& prefix,
                      const Terminal& terminal) {
  if (line.starts_with(kHint)) {
    return "  " + terminal.styled(Style::kHint, "hint:") + line.substr(kHint.size() - 1);
  }
  return line.starts_with("  ") ? terminal.styled(Style::kQuiet, line)
                                : terminal.styled(Style::kError, prefix) + " " + line;
}

/// Lines are broken where a terminal would break them anyway: programs that read errors find
/// each fault on a line of its own.
void say(const std::string& message, const std::string& prefix, const Console& console) {
  const Terminal& terminal = console.err();
  constexpr std::size_t kIndent = 4;
  std::string text;
  for (std::size_t begin = 0; begin <= message.size();) {
    const std::size_t end = std::min(message.find('\n', begin), message.size());
    const std::string line = line_text(message.substr(begin, end - begin), prefix, terminal);
    text += (terminal.is_terminal ? wrapped(line, kIndent, terminal.columns) : line) + "\n";
    begin = end + 1;
  }
  console.warn(text);
}

}  // namespace

void say_error(const std::string& message, const Console& console) {
  say(message, "tare: error:", console);
}

void say_bug(const std::string& message, const Console& console) {
  say(message, "tare: bug:", console);
}

}  // namespace tare::cli
