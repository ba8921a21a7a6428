#pragma once

#include <string_view>

namespace tare::test {

/// Whether `text` is what `expected` says: there {any} stands for any text within a line,
/// {near 42.2 0.5} for a number that is no further from 42.2 than that, {near 136 1%} for one
/// within that part of it, and {lines} on a line of its own for any number of lines.
bool text_matches(std::string_view expected, std::string_view text);

}  // namespace tare::test
