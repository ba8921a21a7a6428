// Three weights to a letter: steps of -1, 0 and 1 from the nearest integer make 27
// combinations, as many as 26 letters and a plus. Few weights have larger steps, those whose
// scales were learned, and get two letters each.
#include "pipeline/store/rounding_text.h"

#include <algorithm>
#include <utility>

namespace tare {
namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ+";
constexpr std::size_t kEach = 3;  ///< weights to a letter
constexpr int kBase = kLetters.size();
constexpr int kMiddle = kBase / 2;  ///< place of N, which is 0
using Steps = std::vector<std::int8_t>;

std::string in_thirds(std::span<const std::int8_t> rounding) {
  std::string letters;
  letters.reserve((rounding.size() + kEach - 1) / kEach);
  for (std::size_t first = 0; first < rounding.size(); first += kEach) {
    std::size_t place = 0;
    for (std::size_t i = kEach; i-- > 0;) {
      const int step = first + i < rounding.size() ? rounding[first + i] : 0;
      place = 3 * place + static_cast<std::size_t>(step + 1);
    }
    letters += kLetters[place];
  }
  return letters;
}

std::string in_pairs(std::span<const std::int8_t> rounding) {
  std::string letters;
  letters.reserve(2 * rounding.size());
  for (const std::int8_t step : rounding) {
    const int place = step + kMiddle * (1 + kBase);
    letters += kLetters[static_cast<std::size_t>(place % kBase)];
    letters += kLetters[static_cast<std::size_t>(place / kBase)];
  }
  return letters;
}

std::optional<Steps> parse_thirds(std::string_view letters, std::size_t count) {
  Steps rounding;
  rounding.reserve(letters.size() * kEach);
  for (const char letter : letters) {
    std::size_t place = kLetters.find(letter);
    if (place == std::string_view::npos) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i < kEach; ++i, place /= 3) {
      rounding.push_back(static_cast<std::int8_t>(static_cast<int>(place % 3) - 1));
    }
  }
  for (; rounding.size() > count; rounding.pop_back()) {
    if (rounding.back() != 0) {
      return std::nullopt;
    }
  }
  return rounding;
}

std::optional<Steps> parse_pairs(std::string_view letters) {
  Steps rounding;
  rounding.reserve(letters.size() / 2);
  for (std::size_t i = 0; i < letters.size(); i += 2) {
    const std::size_t low = kLetters.find(letters[i]);
    const std::size_t high = kLetters.find(letters[i + 1]);
    if (low == std::string_view::npos || high == std::string_view::npos) {
      return std::nullopt;
    }
    const int step =
        static_cast<int>(low) - kMiddle + kBase * (static_cast<int>(high) - kMiddle);
    if (!std::in_range<std::int8_t>(step)) {
      return std::nullopt;
    }
    rounding.push_back(static_cast<std::int8_t>(step));
  }
  return rounding;
}

}  // namespace

std::string rounding_letters(std::span<const std::int8_t> rounding) {
  const bool is_near = std::all_of(rounding.begin(), rounding.end(),
                                   [](std::int8_t step) { return step >= -1 && step <= 1; });
  return is_near ? in_thirds(rounding) : in_pairs(rounding);
}

std::optional<std::vector<std::int8_t>> parse_rounding(std::string_view letters,
                                                       std::size_t count) {
  if (letters.size() == (count + kEach - 1) / kEach) {
    return parse_thirds(letters, count);
  }
  return letters.size() == 2 * count ? parse_pairs(letters) : std::nullopt;
}

}  // namespace tare
