// One line for each value: its name, in which everything but plain letters is written as %xx,
// and its factors in base64, as little-endian float32.
#include "tare/equalize.h"
#include "tare/error.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>

namespace tare {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr unsigned kBitsOfLetter = 6;
constexpr unsigned kBitsOfFactor = 32;

std::string escaped(const std::string& name) {
  std::string result;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c > ' ' && c < 0x7F && c != '%') {
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

/// The bits of all factors, six to a letter; 0 where the last letter has some left.
std::string letters(const std::vector<float>& factors) {
  std::string result;
  std::uint64_t waiting = 0;
  unsigned bits = 0;
  for (const float factor : factors) {
    waiting |= std::uint64_t{std::bit_cast<std::uint32_t>(factor)} << bits;
    for (bits += kBitsOfFactor; bits >= kBitsOfLetter; bits -= kBitsOfLetter) {
      result += kLetters[waiting % kLetters.size()];
      waiting >>= kBitsOfLetter;
    }
  }
  if (bits > 0) {
    result += kLetters[waiting];
  }
  return result;
}

std::optional<std::vector<float>> factors_of(std::string_view text) {
  std::vector<float> result;
  std::uint64_t waiting = 0;
  unsigned bits = 0;
  for (const char c : text) {
    const std::size_t letter = kLetters.find(c);
    if (letter == kLetters.npos) {
      return std::nullopt;
    }
    waiting |= std::uint64_t{letter} << bits;
    bits += kBitsOfLetter;
    if (bits >= kBitsOfFactor) {
      const auto factor = std::bit_cast<float>(static_cast<std::uint32_t>(waiting));
      if (!(factor > 0) || !std::isfinite(factor)) {
        return std::nullopt;
      }
      result.push_back(factor);
      waiting >>= kBitsOfFactor;
      bits -= kBitsOfFactor;
    }
  }
  const bool is_whole = bits < kBitsOfLetter && waiting == 0;
  return is_whole ? std::optional(std::move(result)) : std::nullopt;
}

}  // namespace

std::string text_of(const ChannelFactors& factors) {
  std::string text;
  for (const auto& [name, values] : factors) {
    text += escaped(name) + ' ' + letters(values) + '\n';
  }
  return text;
}

ChannelFactors channel_factors(std::string_view text) {
  ChannelFactors result;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    const std::size_t space = std::min(line.find(' '), line.size());
    const auto name = unescaped(line.substr(0, space));
    auto factors = factors_of(line.substr(std::min(space + 1, line.size())));
    if (!name || name->empty() || !factors) {
      throw Error(ErrorCode::kInvalidModel, "metadata", "the equalization cannot be read");
    }
    result[*name] = std::move(*factors);
  }
  return result;
}

}  // namespace tare
