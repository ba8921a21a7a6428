#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tare {

/// RFC 4648, with padding.
std::string base64(std::span<const std::byte>);
inline std::string base64(std::string_view text) {
  return base64(std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace tare
