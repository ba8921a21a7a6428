#pragma once

#include <cstddef>
#include <string>

namespace tare::cli {

/// A name from a file for a terminal: printable, and where it has more characters than `width`
/// with "..." for its middle. Its ends tell layers apart.
std::string shortened(const std::string& name, std::size_t width);

/// A message with the names in it, which stand in quotes, shortened.
std::string with_short_names(const std::string& message, std::size_t width);

/// A line of words, broken before those that would go beyond the width; what follows is
/// indented by so many spaces. Longer words stand alone.
std::string wrapped(const std::string& line, std::size_t indent, std::size_t width);

}  // namespace tare::cli
