// What others choose, tried on data: together the ranges that leave the least error in the
// results of the network. The first is used where there are statistics only.
//
// No calibrator is best for all networks: of four, `mse` is for two, `aciq` and
// `percent_of_max` for one each (docs/decisions/0026-auto-counts-errors-as-they-are.md). The
// three percentiles each clip a tenth of what the one before does, since the best ranges of a
// transformer lie between those of `mse` and `max`, nearer to one or the other from point to
// point: 42.2 dB in place of 41.5 with a single percentile. The search is in
// src/calibrate/selection/select_calibrators.cpp.
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
