#pragma once

#include <string_view>

namespace tare {

/// Whether `text` is what `expected` says: there {any} stands for any text within a line, and
/// {lines} on a line of its own for any number of lines.
bool text_matches(std::string_view expected, std::string_view text);

}  // namespace tare
