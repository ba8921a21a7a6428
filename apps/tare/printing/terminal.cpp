#include "printing/terminal.h"

#include "tare/error.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

namespace tare::cli {
namespace {

// Select Graphic Rendition (ECMA-48), by Style.
constexpr std::array<std::string_view, 9> kSequences{"\x1b[1m",    "\x1b[36m",   "\x1b[2m",
                                                     "\x1b[1;36m", "\x1b[32m",   "\x1b[33m",
                                                     "\x1b[31m",   "\x1b[1;33m", "\x1b[1;31m"};
constexpr std::string_view kEnd = "\x1b[0m";

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::size_t style_length(std::string_view text) {
  if (text.starts_with(kEnd)) {
    return kEnd.size();
  }
  const auto* found =
      std::find_if(kSequences.begin(), kSequences.end(),
                   [&](std::string_view sequence) { return text.starts_with(sequence); });
  return found == kSequences.end() ? 0 : found->size();
}

std::string Terminal::styled(Style style, const std::string& text) const {
  if (!has_colours) {
    return text;
  }
  return std::string(kSequences.at(static_cast<std::size_t>(style))) + text + std::string(kEnd);
}

std::string Terminal::shown(std::string_view text) const {
  if (!has_colours) {
    return printable_lines(text);
  }
  std::string result;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t escape = text.find('\x1b', begin);
    const std::size_t length =
        escape == std::string_view::npos ? 0 : style_length(text.substr(escape));
    const std::size_t end =
        length == 0 && escape != std::string_view::npos ? escape + 1 : escape;
    result += printable_lines(text.substr(begin, end - begin));
    if (end == std::string_view::npos) {
      return result;
    }
    result += text.substr(end, length);
    begin = end + length;
  }
}

bool can_clear_lines(int descriptor) {
  return ::isatty(descriptor) != 0 && environment("TERM") != "dumb";
}

Terminal terminal_of(int descriptor) {
  Terminal terminal;
  terminal.is_terminal = ::isatty(descriptor) != 0;
  if (!terminal.is_terminal) {
    return terminal;
  }
  terminal.has_colours = environment("NO_COLOR").empty() && can_clear_lines(descriptor);
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    // Tables need some room, and the eye does not find the next of very long lines.
    constexpr std::size_t kNarrowest = 40;
    constexpr std::size_t kWidest = 120;
    terminal.columns = std::clamp<std::size_t>(size.ws_col, kNarrowest, kWidest);
    terminal.help_columns = std::min<std::size_t>(terminal.columns, 100);
  }
  return terminal;
}

}  // namespace tare::cli
