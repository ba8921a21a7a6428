// Perplexity of the quantized network.
#include "tare/report.h"

#include "token_metrics.h"

TARE_METRIC(perplexity) {
  using namespace tare;
  return {.name = "perplexity",
          .summary = "of a language model: e to the mean cross-entropy of next tokens",
          .make = [] {
            return std::make_unique<LossMetric>(
                [](const NextTokenLoss&, const NextTokenLoss& quantized) {
                  return quantized.perplexity();
                });
          }};
}
