// Share of the samples for which both networks have the same top class, in percent.
#include "tare/report.h"

namespace tare {
namespace {

std::optional<double> agreement(const SampleResults& results) {
  const auto real = scores_of(results.real[0]);
  const auto quantized = scores_of(results.quantized[0]);
  return real && quantized
             ? std::optional(top_class(*real) == top_class(*quantized) ? 100.0 : 0.0)
             : std::nullopt;
}

}  // namespace
}  // namespace tare

TARE_METRIC(top1_agreement) {
  using namespace tare;
  return {.name = "top1.agreement",
          .summary = "per cent of the samples whose top class is that of the float network",
          .make = [] { return std::make_unique<MeanMetric>(agreement); }};
}
