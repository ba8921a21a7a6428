#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tare {

// How table files spell PointResult::rounding: one letter for every three weights, the place of
// d0 + 3 d1 + 9 d2 in "ABC...XYZ+", where d is 0, 1 or 2 for -1, 0 or 1. So N is three times
// the nearest integer, which also fills the last letter up.

std::string rounding_letters(std::span<const std::int8_t>);
/// Nothing when some letter is none of these, or they do not make `count` weights.
std::optional<std::vector<std::int8_t>> parse_rounding(std::string_view letters,
                                                       std::size_t count);

}  // namespace tare
