#include "execute/elements/elementwise.h"

#include <cstdint>

namespace tare {
namespace {

constexpr auto kAnd = []<class T>(T a, T b) { return static_cast<T>(a & b); };
constexpr auto kOr = []<class T>(T a, T b) { return static_cast<T>(a | b); };
constexpr auto kXor = []<class T>(T a, T b) { return static_cast<T>(a ^ b); };
constexpr auto kNot = []<class T>(T a) { return static_cast<T>(~a); };

}  // namespace
}  // namespace tare

TARE_KERNEL(bitwise) {
  using namespace tare;
  // Narrower types are computed in these, whose lower bits are the same.
  using Integers = Types<std::int64_t, std::uint64_t>;
  return elementwise({
      binary("BitwiseAnd", Integers{}, fixed(kAnd)),
      binary("BitwiseOr", Integers{}, fixed(kOr)),
      binary("BitwiseXor", Integers{}, fixed(kXor)),
      unary("BitwiseNot", Integers{}, fixed(kNot)),
  });
}
