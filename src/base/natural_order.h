#pragma once

#include <string_view>

namespace tare {

/// The order in which people count: `sample_9` comes before `sample_10`. Names that differ in
/// leading zeros alone are in the order of their bytes.
bool comes_before(std::string_view a, std::string_view b);

/// What a name has before the number that it ends with; all of it where it ends with none.
std::string_view before_number(std::string_view name);

}  // namespace tare
