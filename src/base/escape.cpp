#include "base/escape.h"

namespace tare {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c > ' ' && c < 0x7F && c != '%' && c != '=') {
      result += c;
    } else {
      result += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
    }
  }
  return result;
}

std::optional<std::string> unescaped(std::string_view word) {
  std::string result;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '%') {
      result += word[i];
      continue;
    }
    const bool has_two = i + 2 < word.size();
    const std::size_t high = has_two ? kDigits.find(word[i + 1]) : kDigits.npos;
    const std::size_t low = has_two ? kDigits.find(word[i + 2]) : kDigits.npos;
    if (high == kDigits.npos || low == kDigits.npos) {
      return std::nullopt;
    }
    result += static_cast<char>(16 * high + low);
    i += 2;
  }
  return result;
}

}  // namespace tare
