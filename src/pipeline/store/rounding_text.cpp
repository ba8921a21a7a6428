// Three weights to a letter: steps of -1, 0 and 1 from the nearest integer make 27
// combinations, as many as 26 letters and a plus.
#include "pipeline/store/rounding_text.h"

namespace tare {
namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ+";
constexpr std::size_t kEach = 3;  ///< weights to a letter

}  // namespace

std::string rounding_letters(std::span<const std::int8_t> rounding) {
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

std::optional<std::vector<std::int8_t>> parse_rounding(std::string_view letters,
                                                       std::size_t count) {
  if (letters.size() != (count + kEach - 1) / kEach) {
    return std::nullopt;
  }
  std::vector<std::int8_t> rounding;
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

}  // namespace tare
