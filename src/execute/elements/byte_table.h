#pragma once

#include <cstddef>
#include <cstdint>

namespace tare {

/// to[i] = table[from[i]] for a table of 256 bytes; `from` and `to` may be the same memory.
void look_up(const std::uint8_t* table, const std::uint8_t* from, std::uint8_t* to,
             std::size_t count);

}  // namespace tare
