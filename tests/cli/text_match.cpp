#include "cli/text_match.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <system_error>
#include <utility>

namespace tare::test {
namespace {

constexpr std::string_view kAny = "{any}";
constexpr std::string_view kNear = "{near ";

/// A number at the beginning of the text, and where it ends.
std::optional<std::pair<double, std::size_t>> number_in(std::string_view text) {
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc()) {
    return std::nullopt;
  }
  return std::pair(value, static_cast<std::size_t>(end - text.data()));
}

/// "{near NUMBER PART%}" or "{near NUMBER DISTANCE}", and what comes after it.
struct Near {
  double value = 0;
  double distance = 0;
  std::string_view rest;
};

std::optional<Near> near_in(std::string_view expected) {
  const std::string_view words = expected.substr(kNear.size());
  const auto value = number_in(words);
  const auto distance = value ? number_in(words.substr(value->second + 1))
                              : std::optional<std::pair<double, std::size_t>>();
  const std::size_t close = expected.find('}');
  if (!distance || close == std::string_view::npos) {
    return std::nullopt;
  }
  const bool is_part = expected[close - 1] == '%';
  return Near{value->first,
              is_part ? std::abs(value->first) * distance->first / 100 : distance->first,
              expected.substr(close + 1)};
}

/// `expected` with {any} and {near} against one line.
bool line_matches(std::string_view expected, std::string_view line) {
  const std::size_t special = std::min(expected.find(kAny), expected.find(kNear));
  if (special == std::string_view::npos) {
    return expected == line;
  }
  if (line.substr(0, special) != expected.substr(0, special)) {
    return false;
  }
  expected.remove_prefix(special);
  line.remove_prefix(std::min(special, line.size()));
  if (expected.starts_with(kNear)) {
    // Rounding to the digits that are printed is no difference.
    constexpr double kRounding = 1e-9;
    const auto wanted = near_in(expected);
    const auto found = number_in(line);
    return wanted && found &&
           std::abs(found->first - wanted->value) <= wanted->distance + kRounding &&
           line_matches(wanted->rest, line.substr(found->second));
  }
  const std::string_view rest = expected.substr(kAny.size());
  for (std::size_t begin = 0; begin <= line.size(); ++begin) {
    if (line_matches(rest, line.substr(begin))) {
      return true;
    }
  }
  return false;
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

bool text_matches(std::string_view expected, std::string_view text) {
  if (expected.empty() || text.empty()) {
    return expected.empty() == text.empty() || expected == "{lines}\n";
  }
  const std::string_view wanted = take_line(expected);
  if (wanted != "{lines}") {
    return line_matches(wanted, take_line(text)) && text_matches(expected, text);
  }
  for (;;) {
    if (text_matches(expected, text)) {
      return true;
    }
    if (text.empty()) {
      return false;
    }
    take_line(text);
  }
}

}  // namespace tare::test
