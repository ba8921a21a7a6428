// A long accumulator: the 53 bits of a double are added at their place in a fixed-point number
// of 512 bits, so nothing above its last bit is rounded and the order of terms makes no
// difference (the header has the source). Cost: two words for each term as a rule; carries
// rarely go further, but a sum that changes its sign carries through all eight words. 64 bytes.
#include "tare/arithmetic.h"

#include <bit>
#include <cmath>

namespace tare {
namespace {

constexpr int kFractionBits = 224;
// Of a double of IEEE 754.
constexpr int kStoredBits = 52;
constexpr int kExponentBias = 1023;
constexpr std::uint64_t kExponentMask = 0x7FF;
constexpr std::uint64_t kOne = 1;

/// words += addend << (64 * first), where `high` and `low` are two words of the addend.
void add_words(ExactSum::Words& words, std::size_t first, std::uint64_t low,
               std::uint64_t high) {
  bool carry = false;
  for (std::size_t i = first; i < words.size(); ++i) {
    const std::uint64_t addend = i == first ? low : i == first + 1 ? high : 0;
    if (i > first + 1 && !carry) {
      return;
    }
    const std::uint64_t sum = words[i] + addend;
    const std::uint64_t with_carry = sum + (carry ? 1 : 0);
    carry = sum < addend || with_carry < sum;
    words[i] = with_carry;
  }
}

void subtract_words(ExactSum::Words& words, std::size_t first, std::uint64_t low,
                    std::uint64_t high) {
  bool borrow = false;
  for (std::size_t i = first; i < words.size(); ++i) {
    const std::uint64_t subtrahend = i == first ? low : i == first + 1 ? high : 0;
    if (i > first + 1 && !borrow) {
      return;
    }
    const std::uint64_t difference = words[i] - subtrahend;
    const std::uint64_t with_borrow = difference - (borrow ? 1 : 0);
    borrow = words[i] < subtrahend || difference < (borrow ? 1U : 0U);
    words[i] = with_borrow;
  }
}

}  // namespace

void ExactSum::add(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto exponent = static_cast<int>(bits >> kStoredBits & kExponentMask);
  std::uint64_t mantissa = (bits & ((kOne << kStoredBits) - 1)) | kOne << kStoredBits;
  // |x| = mantissa * 2^position in units of the last bit; subnormal numbers are far below that.
  int position = exponent - kExponentBias - kStoredBits + kFractionBits;
  if (position < 0) {
    if (position <= -(kStoredBits + 1)) {
      return;
    }
    mantissa >>= -position;
    position = 0;
  }
  const auto word = static_cast<std::size_t>(position / 64);
  const int shift = position % 64;
  const std::uint64_t low = mantissa << shift;
  const std::uint64_t high = shift == 0 ? 0 : mantissa >> (64 - shift);
  if (word >= kWords) {
    return;  // beyond what the class promises
  }
  if (std::signbit(x)) {
    subtract_words(words_, word, low, high);
  } else {
    add_words(words_, word, low, high);
  }
}

void ExactSum::add(const ExactSum& other) {
  bool carry = false;
  for (std::size_t i = 0; i < kWords; ++i) {
    const std::uint64_t sum = words_[i] + other.words_[i];
    const std::uint64_t with_carry = sum + (carry ? 1 : 0);
    carry = sum < other.words_[i] || with_carry < sum;
    words_[i] = with_carry;
  }
}

double ExactSum::value() const {
  const bool negative = (words_.back() >> 63U) != 0;
  Words magnitude = words_;
  if (negative) {
    bool carry = true;
    for (std::uint64_t& word : magnitude) {
      word = ~word + (carry ? 1 : 0);
      carry = carry && word == 0;
    }
  }
  std::size_t top = kWords;
  while (top > 0 && magnitude[top - 1] == 0) {
    --top;
  }
  double result = 0;
  // The two leading words hold 65 bits or more.
  for (std::size_t i = top; i > 0 && i + 2 > top; --i) {
    result += std::ldexp(static_cast<double>(magnitude[i - 1]),
                         static_cast<int>(i - 1) * 64 - kFractionBits);
  }
  return negative ? -result : result;
}

ExactSum ExactSum::of(const Words& words) {
  ExactSum result;
  result.words_ = words;
  return result;
}

}  // namespace tare
