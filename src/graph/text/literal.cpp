// Numbers as text and back without loss: the shortest decimals that read back to the same bits,
// by std::to_chars. Bits of NaN are kept too.
#include "graph/text/literal.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

namespace tare {
namespace {

/// Bits of a float type, and the standard type that its decimals are made with.
template <class T>
struct FloatTraits;
template <>
struct FloatTraits<float> {
  using Bits = std::uint32_t;
  using Decimal = float;
  static constexpr Bits kNan = 0x7FC00000U;
  static float from(Decimal value) { return value; }
};
template <>
struct FloatTraits<double> {
  using Bits = std::uint64_t;
  using Decimal = double;
  static constexpr Bits kNan = 0x7FF8000000000000U;
  static double from(Decimal value) { return value; }
};
template <>
struct FloatTraits<HalfElement> {
  using Bits = std::uint16_t;
  using Decimal = float;
  static constexpr Bits kNan = 0x7E00U;
  static HalfElement from(Decimal value) { return {float_to_half(value)}; }
};
template <>
struct FloatTraits<Bfloat16Element> {
  using Bits = std::uint16_t;
  using Decimal = float;
  static constexpr Bits kNan = 0x7FC0U;
  static Bfloat16Element from(Decimal value) { return {float_to_bfloat16(value)}; }
};

template <class T>
concept Float = requires {
  typename FloatTraits<T>::Bits;
};

/// Longest literal: a subnormal double, 24 characters.
constexpr std::size_t kLongest = 32;

template <class T, class... Format>
void append_chars(std::string& out, T value, Format... format) {
  char buffer[kLongest];
  const auto end = std::to_chars(buffer, buffer + kLongest, value, format...).ptr;
  out.append(buffer, end);
}

template <class T, class... Format>
bool parse_chars(std::string_view text, T& value, Format... format) {
  const char* end = text.data() + text.size();
  T parsed{};
  const auto [stop, fault] = std::from_chars(text.data(), end, parsed, format...);
  if (fault != std::errc{} || stop != end) {
    return false;
  }
  value = parsed;
  return true;
}

template <Float T>
bool parse_nan(std::string_view text, T& value) {
  using Traits = FloatTraits<T>;
  constexpr std::string_view kOpen = "nan(0x";
  typename Traits::Bits bits = Traits::kNan;
  if (text != "nan") {
    if (!text.starts_with(kOpen) || !text.ends_with(')')) {
      return false;
    }
    text.remove_prefix(kOpen.size());
    text.remove_suffix(1);
    if (!parse_chars(text, bits, 16)) {
      return false;
    }
  }
  const T parsed = std::bit_cast<T>(bits);
  if (!std::isnan(static_cast<typename Traits::Decimal>(parsed))) {
    return false;
  }
  value = parsed;
  return true;
}

template <Float T>
bool parse_float(std::string_view text, T& value) {
  using Traits = FloatTraits<T>;
  using Decimal = typename Traits::Decimal;
  if (text.starts_with("nan")) {
    return parse_nan(text, value);
  }
  constexpr Decimal kInfinity = std::numeric_limits<Decimal>::infinity();
  if (text == "inf" || text == "-inf") {
    value = Traits::from(text.front() == '-' ? -kInfinity : kInfinity);
    return true;
  }
  Decimal decimal{};
  if (!parse_chars(text, decimal)) {
    return false;
  }
  const T rounded = Traits::from(decimal);
  if (!std::isfinite(static_cast<Decimal>(rounded))) {
    return false;
  }
  value = rounded;
  return true;
}

}  // namespace

template <class T>
void append_literal(std::string& out, T value) {
  if constexpr (std::is_same_v<T, bool>) {
    out += value ? "true" : "false";
  } else if constexpr (Float<T>) {
    using Traits = FloatTraits<T>;
    const auto bits = std::bit_cast<typename Traits::Bits>(value);
    const auto decimal = static_cast<typename Traits::Decimal>(value);
    if (!std::isnan(decimal)) {
      append_chars(out, decimal);
    } else if (bits == Traits::kNan) {
      out += "nan";
    } else {
      out += "nan(0x";
      append_chars(out, bits, 16);
      out += ')';
    }
  } else {
    append_chars(out, value);
  }
}

template <class T>
bool parse_literal(std::string_view text, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    if (text != "true" && text != "false") {
      return false;
    }
    value = text == "true";
    return true;
  } else if constexpr (Float<T>) {
    return parse_float(text, value);
  } else {
    return parse_chars(text, value);
  }
}

// NOLINTNEXTLINE(bugprone-macro-parentheses): a type
#define TARE_LITERAL(T)                          \
  template void append_literal(std::string&, T); \
  template bool parse_literal(std::string_view, T&);
TARE_LITERAL(float)
TARE_LITERAL(double)
TARE_LITERAL(HalfElement)
TARE_LITERAL(Bfloat16Element)
TARE_LITERAL(std::int8_t)
TARE_LITERAL(std::uint8_t)
TARE_LITERAL(std::int16_t)
TARE_LITERAL(std::uint16_t)
TARE_LITERAL(std::int32_t)
TARE_LITERAL(std::uint32_t)
TARE_LITERAL(std::int64_t)
TARE_LITERAL(std::uint64_t)
TARE_LITERAL(bool)
#undef TARE_LITERAL

}  // namespace tare
