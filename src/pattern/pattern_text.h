#pragma once

#include <string_view>

namespace tare {

/// Whether parse_pattern() takes the text.
bool is_pattern(std::string_view text);

}  // namespace tare
