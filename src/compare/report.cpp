// Figures of a report that need a formula. The interval of a proportion is Wilson's ("Probable
// Inference, the Law of Succession, and Statistical Inference", 1927): unlike the usual one it
// holds for few samples and for shares near 0 and 1, which are the rule here.
#include "tare/report.h"

#include <algorithm>
#include <cmath>

namespace tare {

double Proportion::share() const {
  return of == 0 ? 0 : static_cast<double>(count) / static_cast<double>(of);
}

Range Proportion::interval() const {
  if (of == 0) {
    return {0, 1};
  }
  constexpr double kZ = 1.959963984540054;  // 97.5 % quantile of the normal distribution
  const auto n = static_cast<double>(of);
  const double denominator = 1 + kZ * kZ / n;
  const double center = (share() + kZ * kZ / (2 * n)) / denominator;
  const double half =
      kZ * std::sqrt(share() * (1 - share()) / n + kZ * kZ / (4 * n * n)) / denominator;
  return {std::max(center - half, 0.0), std::min(center + half, 1.0)};
}

std::string_view name_of(Level level) {
  switch (level) {
    case Level::kGood:
      return "good";
    case Level::kFair:
      return "fair";
    case Level::kPoor:
      break;
  }
  return "poor";
}

std::string_view name_of(EvaluatedOn evaluated_on) {
  switch (evaluated_on) {
    case EvaluatedOn::kGiven:
      return "given";
    case EvaluatedOn::kCalibration:
      return "calibration";
    case EvaluatedOn::kHeldOut:
      break;
  }
  return "held_out";
}

}  // namespace tare
