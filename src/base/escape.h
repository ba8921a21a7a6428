#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tare {

/// Any text as a word: blanks, =, % and what is not printable ASCII become %xx.
std::string escaped(std::string_view text);
/// Nothing for what escaped() does not write.
std::optional<std::string> unescaped(std::string_view word);

}  // namespace tare
