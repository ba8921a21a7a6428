// A value x is off by r = x - s n, where n is the nearest whole number to x / s that the
// storage type can hold beside its zero point. Over one step r^2 integrates to s^3 / 12, over a
// part of one to r^3 / 3, so the integral from 0 to x is s^3 / 12 * n + r^3 / 3, and that stays
// true where n is at its end and r grows: values evenly spread over a segment cost the
// difference of two such numbers, however many steps lie between.
//
// Choosing ranges by this error is common practice (Nagel, Fournarakis, Amjad, Bondarenko, van
// Baalen and Blankevoort, "A White Paper on Neural Network Quantization", 2021, section 3.1).
// In closed form it costs one evaluation for each edge of a filled bin, some 4096 at most,
// whatever the number of storage values.

#include "tare/arithmetic.h"
#include "tare/calibrator.h"

#include "calibrate/selection/quantization_grid.h"

#include <array>

namespace tare {
namespace {

constexpr std::size_t kLanes = 8;

}  // namespace

ExpectedError::ExpectedError(const TensorStatistics& observed) {
  // Exact zeros, which are in no bin, are exact on every grid and cost nothing.
  for (const HistogramSegment& part : histogram_segments(observed)) {
    const auto count = static_cast<double>(part.count);
    if (part.width() == 0) {
      points_.push_back({part.from, count});
    } else {
      change(part.from, -count / part.width());
      change(part.to, count / part.width());
    }
  }
  while (places_.size() % kLanes != 0) {
    places_.push_back({});
  }
}

double ExpectedError::sum_of_squares(const QuantParams& params) const {
  const QuantizationGrid grid(params);
  // Independent sums make this vector code: they may not be reordered by the compiler.
  std::array<double, kLanes> sums{};
  for (std::size_t i = 0; i < places_.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      sums[lane] += places_[i + lane].weight * grid.integral(places_[i + lane].x);
    }
  }
  double result = 0;
  for (const double sum : sums) {
    result += sum;
  }
  for (const Place& point : points_) {
    result += point.weight * grid.square(point.x);
  }
  return result;
}

void ExpectedError::change(double x, double weight) {
  if (places_.empty() || places_.back().x != x) {
    places_.push_back({x, 0});
  }
  places_.back().weight += weight;
}

}  // namespace tare
