// One line for each value: its name, escaped(), and its factors in base64, as little-endian
// float32.
#include "tare/error.h"
#include "tare/quant_table.h"

#include "base/escape.h"
#include "equalize/equalize.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>

namespace tare {
namespace {

constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr unsigned kBitsOfLetter = 6;
constexpr unsigned kBitsOfFactor = 32;

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
