#include "cli/text_match.h"

#include <algorithm>
#include <cstddef>

namespace tare {
namespace {

/// `expected` with {any} for any text against one line.
bool line_matches(std::string_view expected, std::string_view line) {
  constexpr std::string_view kAny = "{any}";
  const std::size_t any = expected.find(kAny);
  if (any == std::string_view::npos) {
    return expected == line;
  }
  if (line.substr(0, any) != expected.substr(0, any)) {
    return false;
  }
  const std::string_view rest = expected.substr(any + kAny.size());
  for (std::size_t begin = any; begin <= line.size(); ++begin) {
    if (line_matches(rest, line.substr(begin))) {
      return true;
    }
  }
  return false;
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

bool text_matches(std::string_view expected, std::string_view text) {
  if (expected.empty() || text.empty()) {
    return expected.empty() == text.empty() || expected == "{lines}\n";
  }
  const std::string_view wanted = take_line(expected);
  if (wanted != "{lines}") {
    return line_matches(wanted, take_line(text)) && text_matches(expected, text);
  }
  for (;;) {
    if (text_matches(expected, text)) {
      return true;
    }
    if (text.empty()) {
      return false;
    }
    take_line(text);
  }
}

}  // namespace tare
