// Mul(a, b) of two activations.
#include "elementwise.h"

TARE_PATTERN(multiply) {
  return tare::elementwise("multiply", "Mul", "multiplication of two activations");
}
