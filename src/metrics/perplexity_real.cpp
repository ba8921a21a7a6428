// Perplexity of the float network, to read the other one beside.
#include "tare/report.h"

#include "token_metrics.h"

TARE_METRIC(perplexity_real) {
  using namespace tare;
  return {
      .name = "perplexity.float", .summary = "the same of the float network", .make = [] {
        return std::make_unique<LossMetric>(
            [](const NextTokenLoss& real, const NextTokenLoss&) { return real.perplexity(); });
      }};
}
