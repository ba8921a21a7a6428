#include "tare/error.h"

#include "execute/elements/elementwise.h"

#include <cmath>
#include <limits>

namespace tare {
namespace {

/// Integers as an unsigned type, in which sums and products wrap around without overflow.
template <class T>
auto wrapping(T x) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>>(x);
  } else {
    return x;
  }
}

constexpr auto kAdd = [](auto a, auto b) { return wrapping(a) + wrapping(b); };
constexpr auto kSub = [](auto a, auto b) { return wrapping(a) - wrapping(b); };
constexpr auto kMul = [](auto a, auto b) { return wrapping(a) * wrapping(b); };

/// Whether b is the divisor -1, by which the most negative integer cannot be divided.
template <class T>
bool is_minus_one(T b) {
  return std::is_signed_v<T> && b == static_cast<T>(-1);
}

constexpr auto kDiv = []<class T>(T a, T b) -> T {
  if constexpr (std::is_floating_point_v<T>) {
    return a / b;
  } else if (b == 0) {
    return 0;  // undefined in ONNX
  } else if (is_minus_one(b)) {
    return static_cast<T>(wrapping(T(0)) - wrapping(a));
  } else {
    return static_cast<T>(a / b);
  }
};

/// The sign of the remainder is that of the divisor, or of the dividend as in C.
auto modulo(const Attributes& attributes) {
  return [like_c = attributes.integer("fmod", 0) != 0]<class T>(T a, T b) -> T {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fmod(a, b);
    } else {
      if (b == 0 || is_minus_one(b)) {
        return 0;
      }
      const T rest = static_cast<T>(a % b);
      return !like_c && rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
    }
  };
}

auto shift(const Attributes& attributes) {
  const std::string direction = attributes.text("direction");
  if (direction != "LEFT" && direction != "RIGHT") {
    throw Error(ErrorCode::kInvalidModel, "", "direction is '" + direction + "'")
        .expected("LEFT or RIGHT");
  }
  return [left = direction == "LEFT"]<class T>(T a, T by) -> T {
    if (by >= std::numeric_limits<T>::digits) {
      return 0;
    }
    return static_cast<T>(left ? std::uint64_t{a} << by : std::uint64_t{a} >> by);
  };
}

}  // namespace
}  // namespace tare

TARE_KERNEL(arithmetic) {
  using namespace tare;
  return elementwise({
      binary("Add", WideNumbers{}, fixed(kAdd)),
      binary("Sub", WideNumbers{}, fixed(kSub)),
      binary("Mul", WideNumbers{}, fixed(kMul)),
      binary("Div", WideNumbers{}, fixed(kDiv)),
      binary("Mod", WideNumbers{}, modulo),
      binary("PRelu", WideNumbers{}, fixed([](auto x, auto slope) {
               return x < 0 ? wrapping(x) * wrapping(slope) : wrapping(x);
             })),
      binary("BitShift", Types<std::uint64_t>{}, shift),
  });
}
