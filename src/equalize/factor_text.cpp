// One line for each value: its name, in which everything but plain letters is written as %xx,
// and its factors.
#include "tare/equalize.h"
#include "tare/error.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace tare {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

bool is_plain(char c) {
  return c > ' ' && c < 0x7F && c != '%';
}

std::string escaped(const std::string& name) {
  std::string result;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain(c)) {
      result += c;
    } else {
      result += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
    }
  }
  return result;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    const bool has_two = i + 2 < text.size();
    const std::size_t high = has_two ? kDigits.find(text[i + 1]) : kDigits.npos;
    const std::size_t low = has_two ? kDigits.find(text[i + 2]) : kDigits.npos;
    if (high == kDigits.npos || low == kDigits.npos) {
      return std::nullopt;
    }
    result += static_cast<char>(16 * high + low);
    i += 2;
  }
  return result;
}

std::string_view take(std::string_view& text, char end) {
  const std::size_t length = std::min(text.find(end), text.size());
  const std::string_view part = text.substr(0, length);
  text.remove_prefix(std::min(length + 1, text.size()));
  return part;
}

std::optional<float> factor(std::string_view text) {
  float value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  const bool fits = error == std::errc{} && rest == end && value > 0 && std::isfinite(value);
  return fits ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string text_of(const ChannelFactors& factors) {
  std::string text;
  for (const auto& [name, values] : factors) {
    text += escaped(name);
    for (const float value : values) {
      std::array<char, 32> digits{};
      text += ' ';
      text.append(digits.data(), std::to_chars(digits.begin(), digits.end(), value).ptr);
    }
    text += '\n';
  }
  return text;
}

ChannelFactors channel_factors(std::string_view text) {
  ChannelFactors result;
  const auto fault = [] {
    return Error(ErrorCode::kInvalidModel, "metadata", "the equalization cannot be read");
  };
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    const auto name = unescaped(take(line, ' '));
    if (!name || name->empty()) {
      throw fault();
    }
    std::vector<float>& values = result[*name];
    while (!line.empty()) {
      const auto value = factor(take(line, ' '));
      if (!value) {
        throw fault();
      }
      values.push_back(*value);
    }
  }
  return result;
}

}  // namespace tare
