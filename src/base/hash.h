#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tare {

/// 64-bit digests (XXH3) that name models and data: the same on every machine, not meant
/// against forgery. `seed` chains them: hash(b, hash(a)) depends on both and on their order.
std::uint64_t hash(std::span<const std::byte>, std::uint64_t seed = 0);
std::uint64_t hash(std::string_view, std::uint64_t seed = 0);

/// How files spell a digest: without leading zeros, in small letters.
std::string hexadecimal(std::uint64_t);
/// Nothing unless all of the text is such a number of 64 bits.
std::optional<std::uint64_t> parse_hexadecimal(std::string_view);

}  // namespace tare
