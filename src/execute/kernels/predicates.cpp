#include "execute/elements/elementwise.h"

#include <cmath>

namespace tare {
namespace {

auto is_infinite(const Attributes& attributes) {
  return [above = attributes.integer("detect_positive", 1) != 0,
          below = attributes.integer("detect_negative", 1) != 0](auto x) {
    return std::isinf(x) && (x > 0 ? above : below);
  };
}

}  // namespace
}  // namespace tare

TARE_KERNEL(predicates) {
  using namespace tare;
  return elementwise({
      unary("Not", Types<bool>{}, fixed([](bool x) { return !x; })),
      unary<bool>("IsNaN", Floats{}, fixed([](auto x) { return x != x; })),
      unary<bool>("IsInf", Floats{}, is_infinite),
  });
}
