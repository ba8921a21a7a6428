
#include "tare/error.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace tare {
namespace {

struct Interval {
  std::uint32_t first;
  std::uint32_t last;
};

/// Category Cf of Unicode 15 as far as it is invisible or turns directions, Zl, Zp and Cc. The
/// joiners are here too: two names that differ by one look the same.
constexpr std::array kHidden{
    Interval{0x0000, 0x001F},   // C0
    Interval{0x007F, 0x009F},   // DEL and C1
    Interval{0x00AD, 0x00AD},   // soft hyphen
    Interval{0x061C, 0x061C},   // Arabic letter mark
    Interval{0x180E, 0x180E},   // Mongolian vowel separator
    Interval{0x200B, 0x200F},   // zero width space, joiners, marks of direction
    Interval{0x2028, 0x202E},   // separators, embeddings and overrides
    Interval{0x2060, 0x206F},   // invisible operators, isolates
    Interval{0xFEFF, 0xFEFF},   // byte order mark
    Interval{0xFFF9, 0xFFFB},   // annotations
    Interval{0xFFFE, 0xFFFF},   // noncharacters, which YAML does not take
    Interval{0xE0000, 0xE007F}  // tags
};

bool is_hidden(std::uint32_t character) {
  return std::any_of(kHidden.begin(), kHidden.end(), [&](const Interval& interval) {
    return interval.first <= character && character <= interval.last;
  });
}

/// Bytes of the character at the front of a text; 0 where it is not UTF-8.
std::size_t character_size(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = byte(0);
  const std::size_t size = first < 0x80    ? 1
                           : first >= 0xF0 ? 4
                           : first >= 0xE0 ? 3
                           : first >= 0xC2 ? 2
                                           : 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) {
      return 0;
    }
  }
  // Overlong forms, surrogates, and numbers beyond the last character.
  const bool is_none = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F) ||
                       (first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) > 0x8F) ||
                       first > 0xF4;
  return is_none ? 0 : size;
}

/// Of bytes that are UTF-8.
std::uint32_t decoded(std::string_view bytes) {
  constexpr std::array<unsigned, 5> kLeadMask{0, 0x7F, 0x1F, 0x0F, 0x07};
  std::uint32_t character = static_cast<unsigned char>(bytes[0]) & kLeadMask[bytes.size()];
  for (const char next : bytes.substr(1)) {
    character = (character << 6U) | (static_cast<unsigned char>(next) & 0x3FU);
  }
  return character;
}

void append_hex(std::uint32_t number, int digits, std::string& text) {
  constexpr const char* kDigits = "0123456789abcdef";
  while (digits-- > 0) {
    text += kDigits[(number >> (4U * static_cast<unsigned>(digits))) & 0xFU];
  }
}

void append_escape(std::string_view bytes, std::string& text) {
  const std::uint32_t character = decoded(bytes);
  const bool is_ascii = character < 0x80;
  const bool is_short = character < 0x10000;
  text += is_ascii ? "\\x" : is_short ? "\\u" : "\\U";
  append_hex(character, is_ascii ? 2 : is_short ? 4 : 8, text);
}

void append_byte_escapes(std::string_view bytes, std::string& text) {
  for (const char byte : bytes) {
    text += "\\x";
    append_hex(static_cast<unsigned char>(byte), 2, text);
  }
}

/// JSON has escapes of 16 bits; larger characters take two.
void append_json_escape(std::string_view bytes, std::string& text) {
  std::uint32_t character = decoded(bytes);
  if (character >= 0x10000) {
    text += "\\u";
    append_hex(0xD800 + ((character - 0x10000) >> 10U), 4, text);
    character = 0xDC00 + ((character - 0x10000) & 0x3FFU);
  }
  text += "\\u";
  append_hex(character, 4, text);
}

/// `text` with the bytes of hidden characters as `escape` appends them, but for those that
/// `keep` is true of. A byte that is not UTF-8 becomes \xff.
template <class Keep, class Escape>
std::string escaped(std::string_view text, const Keep& keep, const Escape& escape) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    if (size == 0) {
      append_byte_escapes(text.substr(0, 1), result);
      text.remove_prefix(1);
      continue;
    }
    const std::uint32_t character = decoded(text.substr(0, size));
    if (is_hidden(character) && !keep(character)) {
      escape(text.substr(0, size), result);
    } else {
      result += text.substr(0, size);
    }
    text.remove_prefix(size);
  }
  return result;
}

bool keeps_none(std::uint32_t) {
  return false;
}

}  // namespace

std::string printable(std::string_view text) {
  return escaped(text, keeps_none, append_escape);
}

std::string printable_lines(std::string_view text) {
  return escaped(
      text, [](std::uint32_t character) { return character == '\n' || character == '\t'; },
      append_escape);
}

std::string printable_bytes(std::string_view text) {
  return escaped(text, keeps_none, append_byte_escapes);
}

std::string as_characters(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    if (size > 0) {
      result += text.substr(0, size);
    } else {
      const auto byte = static_cast<unsigned char>(text[0]);
      result += static_cast<char>(0xC0U | (byte >> 6U));
      result += static_cast<char>(0x80U | (byte & 0x3FU));
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return result;
}

std::string yaml_scalar(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : as_characters(text)) {
    quoted += c == '"' || c == '\\' ? "\\" : "";
    quoted += c;
  }
  // The escapes of printable() are those of YAML.
  return printable(quoted) + "\"";
}

std::string json_escaped(std::string_view json) {
  // What is below a space stands between strings: in them it has an escape already.
  return escaped(
      json, [](std::uint32_t character) { return character < 0x20; }, append_json_escape);
}

}  // namespace tare
