// Registers of a stated width. Wrapping is done by shifting the bits above away and back, in
// unsigned arithmetic on the way up, where overflow is defined.

#include "tare/arithmetic.h"
#include "tare/error.h"
#include "tare/node.h"

#include "graph/arithmetic/node_arithmetic.h"

#include <algorithm>
#include <bit>

namespace tare {
namespace {

constexpr const char* kBits = "accumulator_bits";
constexpr const char* kOverflow = "accumulator_overflow";

}  // namespace

std::int64_t Accumulator::hold(std::int64_t sum) const {
  if (overflow == Overflow::kSaturate) {
    return std::clamp(sum, low(), high());
  }
  const int above = 64 - bits;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) << above) >> above;
}

const SumArithmetic& NetworkArithmetic::of(std::string_view node) const {
  const auto found = layers.find(node);
  return found == layers.end() ? usual : found->second;
}

bool states_accumulator(const Attributes& attributes) {
  return attributes.has(kBits) || attributes.has(kOverflow);
}

Accumulator accumulator(const Attributes& attributes) {
  const std::int64_t bits = attributes.integer(kBits, 32);
  if (bits < 8 || bits > 32) {
    throw Error(ErrorCode::kInvalidModel, "",
                std::string(kBits) + " is " + std::to_string(bits))
        .expected("8 to 32");
  }
  const std::string overflow = attributes.text(kOverflow, "saturate");
  if (overflow != "saturate" && overflow != "wrap") {
    throw Error(ErrorCode::kInvalidModel, "", std::string(kOverflow) + " is '" + overflow + "'")
        .expected("saturate or wrap");
  }
  return {static_cast<int>(bits), overflow == "wrap" ? Overflow::kWrap : Overflow::kSaturate};
}

void set_accumulator(Attributes& attributes, const Accumulator& accumulator) {
  attributes.erase(kBits);
  attributes.erase(kOverflow);
  if (accumulator != Accumulator{}) {
    const bool wraps = accumulator.overflow == Overflow::kWrap;
    attributes.set(kBits, std::int64_t{accumulator.bits});
    attributes.set(kOverflow, std::string(wraps ? "wrap" : "saturate"));
  }
}

void SumRange::add(std::int64_t least, std::int64_t most) {
  low += std::min<std::int64_t>(least, 0);
  high += std::max<std::int64_t>(most, 0);
}

int SumRange::bits() const {
  const auto below = static_cast<std::uint64_t>(-(low + 1));  // -2^n needs no more than 2^n - 1
  const auto above = static_cast<std::uint64_t>(high);
  return 1 + static_cast<int>(std::bit_width(std::max(low < 0 ? below : 0, above)));
}

}  // namespace tare
