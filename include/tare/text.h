#pragma once

#include <string>
#include <string_view>

namespace tare {

/// Names in files come from anyone. Here is how they are shown where their characters would do
/// something else than be read: control characters (C0, DEL, C1), characters that are not seen
/// or turn the direction of what follows (Unicode's format characters, line and paragraph
/// separators, noncharacters), and bytes that are not UTF-8.

/// In one line of text: \x1b for bytes, \u202e or \U000e0001 for characters.
std::string printable(std::string_view text);
/// The same of a text in lines, which keeps its line feeds and tabs.
std::string printable_lines(std::string_view text);

/// As printable(), with \x and two digits for each byte: reading these gives the text again.
std::string printable_bytes(std::string_view text);

/// A text as a scalar of YAML in quotes, on one line. Bytes that are not UTF-8 become the
/// characters of those numbers, as YAML holds characters only.
std::string yaml_scalar(std::string_view text);
/// What reading that scalar gives.
std::string as_characters(std::string_view text);

/// A JSON text that says the same, with escapes for such characters in its strings. The text
/// has to be UTF-8.
std::string json_escaped(std::string_view json);

}  // namespace tare
