#include "base/hash.h"

#include <array>
#include <charconv>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tare {

std::uint64_t hash(std::span<const std::byte> bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::uint64_t hash(std::string_view text, std::uint64_t seed) {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

std::string hexadecimal(std::uint64_t value) {
  std::array<char, 16> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, 16).ptr;
  return {text.data(), end};
}

std::optional<std::uint64_t> parse_hexadecimal(std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, 16);
  return error == std::errc() && rest == end ? std::optional(value) : std::nullopt;
}

}  // namespace tare
