#include "execute/elements/elementwise.h"

TARE_KERNEL(compare) {
  using namespace tare;
  return elementwise({
      binary<bool>("Equal", AllTypes{}, fixed([](auto a, auto b) { return a == b; })),
      binary<bool>("Less", Numbers{}, fixed([](auto a, auto b) { return a < b; })),
      binary<bool>("LessOrEqual", Numbers{}, fixed([](auto a, auto b) { return a <= b; })),
      binary<bool>("Greater", Numbers{}, fixed([](auto a, auto b) { return a > b; })),
      binary<bool>("GreaterOrEqual", Numbers{}, fixed([](auto a, auto b) { return a >= b; })),
      binary("And", Types<bool>{}, fixed([](bool a, bool b) { return a && b; })),
      binary("Or", Types<bool>{}, fixed([](bool a, bool b) { return a || b; })),
      binary("Xor", Types<bool>{}, fixed([](bool a, bool b) { return a != b; })),
  });
}
