#include "execute/elements/elementwise.h"

TARE_KERNEL(compare) {
  using namespace tare;
  return elementwise({
      binary<bool>("Equal", decltype(join(WideNumbers{}, Types<bool>{})){},
                   fixed([](auto a, auto b) { return a == b; })),
      binary<bool>("Less", WideNumbers{}, fixed([](auto a, auto b) { return a < b; })),
      binary<bool>("LessOrEqual", WideNumbers{}, fixed([](auto a, auto b) { return a <= b; })),
      binary<bool>("Greater", WideNumbers{}, fixed([](auto a, auto b) { return a > b; })),
      binary<bool>("GreaterOrEqual", WideNumbers{},
                   fixed([](auto a, auto b) { return a >= b; })),
      binary("And", Types<bool>{}, fixed([](bool a, bool b) { return a && b; })),
      binary("Or", Types<bool>{}, fixed([](bool a, bool b) { return a || b; })),
      binary("Xor", Types<bool>{}, fixed([](bool a, bool b) { return a != b; })),
  });
}
