#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tare {

// How table files spell PointResult::rounding, with the 27 letters "ABC...XYZ+": one for every
// three weights where each is -1, 0 or 1. It stands at d0 + 3 d1 + 9 d2, where d is 0, 1 or 2
// for these, so N is three times the nearest integer, which also fills the last letter up. Else
// two for each weight, a + 27 b - 364 with their places a and b, so NN is the nearest.

std::string rounding_letters(std::span<const std::int8_t>);
/// Nothing when some letter is none of these, or they do not make `count` weights of int8.
std::optional<std::vector<std::int8_t>> parse_rounding(std::string_view letters,
                                                       std::size_t count);

}  // namespace tare
