// Sub(a, b) of two activations.
#include "elementwise.h"

TARE_PATTERN(subtract) {
  return tare::elementwise("subtract", "Sub", "subtraction of two activations");
}
