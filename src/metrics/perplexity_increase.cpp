// How much more perplexed the quantized network is.
#include "tare/report.h"

#include "token_metrics.h"

TARE_METRIC(perplexity_increase) {
  using namespace tare;
  return {.name = "perplexity.increase",
          .summary = "per cent by which the perplexity is above that of the float network",
          .make = [] {
            return std::make_unique<LossMetric>(
                [](const NextTokenLoss& real,
                   const NextTokenLoss& quantized) -> std::optional<double> {
                  const auto before = real.perplexity();
                  const auto after = quantized.perplexity();
                  if (!before || !after) {
                    return std::nullopt;
                  }
                  return 100 * (*after / *before - 1);
                });
          }};
}
