// What others choose, tried on data: together the ranges that leave the least error in the
// results of the network. The first is used where there are statistics only.
#include "tare/calibrator.h"

TARE_CALIBRATOR(auto) {
  using namespace tare;
  return {.name = "auto",
          .summary =
              "tries the others and takes, for each point, what gives the network's results "
              "the least error",
          .options = {},
          .make = {},
          .candidates = {{"mse", {}},
                         {"max", {}},
                         {"kl", {}},
                         {"percentile", {{"percentile", 99.99}}},
                         {"percentile", {{"percentile", 99.999}}},
                         {"percentile", {{"percentile", 99.9999}}},
                         {"percent_of_max", {}},
                         {"aciq", {}}}};
}
