#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tare::cli {

/// What a piece of text is to its reader; terminals show each in a way of its own.
enum class Style {
  kHeading,
  kName,   ///< what may be typed
  kQuiet,  ///< beside what matters
  kHint,
  kGood,
  kFair,
  kPoor,
  kWarning,
  kError,
};

/// How a stream shows text. This is a pipe or file, whose lines do not depend on who reads
/// them.
struct Terminal {
  bool is_terminal = false;
  bool has_colours = false;
  std::size_t columns = 100;      ///< of tables and messages
  std::size_t help_columns = 80;  ///< of help, which is read in any terminal

  /// The longest name of a layer or tensor that tables and messages show whole.
  std::size_t name_columns() const { return columns * 44 / 100; }
  /// The text, with what shows that style where there are colours.
  std::string styled(Style, const std::string& text) const;
  /// As printable_lines(), except that styles stay.
  std::string shown(std::string_view text) const;
};

/// A stream that is a terminal has its width, and colours unless NO_COLOR (no-color.org) or a
/// TERM of "dumb" says otherwise.
Terminal terminal_of(int descriptor);

/// Whether it can be told to clear a line.
bool can_clear_lines(int descriptor);

/// The length of the style at the beginning of a text; 0 where there is none.
std::size_t style_length(std::string_view text);

}  // namespace tare::cli
