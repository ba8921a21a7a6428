#pragma once

#include "graph/arithmetic/element_type.h"

#include <string>
#include <string_view>

namespace tare {

/// Appends the shortest text that reads back to the same bits. Floats: decimal, `inf`, `-inf`,
/// `nan` for the quiet NaN without sign and payload, `nan(0x7fc00001)` with all bits for
/// others. T is one of the types of with_element_type.
template <class T>
void append_literal(std::string& out, T value);

/// False, leaving `value` alone, unless all of `text` is a literal that T can hold. Decimals
/// are rounded to the nearest float; one that would round to infinity is refused.
template <class T>
bool parse_literal(std::string_view text, T& value);

}  // namespace tare
