// Add(a, b) of two activations.
#include "elementwise.h"

TARE_PATTERN(add) {
  return tare::elementwise("add", "Add", "addition of two activations");
}
