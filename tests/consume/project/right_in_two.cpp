// A metric that needs labels: the share of the samples whose label is one of the two classes of
// largest scores.
#include <algorithm>

#include <tare/report.h>

namespace {

std::optional<double> is_in_two(const tare::SampleResults& results) {
  const auto scores = tare::scores_of(results.quantized[0]);
  if (!scores || !results.label || *results.label < 0 ||
      *results.label >= static_cast<std::int64_t>(scores->size())) {
    return std::nullopt;
  }
  const float own = (*scores)[static_cast<std::size_t>(*results.label)];
  return std::count_if(scores->begin(), scores->end(), [&](float x) { return x > own; }) < 2;
}

}  // namespace

TARE_METRIC(right_in_two) {
  return {.name = "right_in_two",
          .summary = "share of the samples whose label is one of the two top classes",
          .make = [] { return std::make_unique<tare::MeanMetric>(is_in_two); }};
}
