// The range with the least expected squared error of quantizing and expressing a value again:
// rounding where it is inside, saturation where it is not.
//
// A value x is off by r = x - s n, where n is the nearest whole number to x / s that the
// storage type can hold beside its zero point. Over one step r^2 integrates to s^3 / 12, over a
// part of one to r^3 / 3, so the integral from 0 to x is s^3 / 12 * n + r^3 / 3, and that stays
// true where n is at its end and r grows: values evenly spread over a stretch cost the
// difference of two such numbers, however many steps lie between.
#include "tare/bins.h"
#include "tare/range_search.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tare {
namespace {

class Grid {
 public:
  explicit Grid(const QuantParams& params)
      : step_(static_cast<double>(params.scale[0])),
        low_(static_cast<double>(params.range().low - params.zero_point[0])),
        high_(static_cast<double>(params.range().high - params.zero_point[0])) {}

  /// The squared error of a value.
  double square(double x) const {
    const double off = x - step_ * nearest(x);
    return off * off;
  }
  /// The integral of the squared error from 0 to x.
  double integral(double x) const {
    const double n = nearest(x);
    const double off = x - step_ * n;
    return step_ * step_ * step_ / 12 * n + off * off * off / 3;
  }

 private:
  double nearest(double x) const { return std::clamp(std::nearbyint(x / step_), low_, high_); }

  double step_;
  double low_;
  double high_;
};

/// The values as a density that is constant between places and changes at them, and as many
/// equal values at single points.
class Density {
 public:
  explicit Density(const Summary& seen) {
    for (const Stretch& part : stretches(seen)) {
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

  /// The sum of the squared errors of all values.
  double error(const Grid& grid) const {
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

 private:
  static constexpr std::size_t kLanes = 8;
  struct Place {
    double x = 0;
    double weight = 0;  ///< density below it less density above, or number of values
  };

  void change(double x, double weight) {
    if (places_.empty() || places_.back().x != x) {
      places_.push_back({x, 0});
    }
    places_.back().weight += weight;
  }

  std::vector<Place> places_;
  std::vector<Place> points_;
};

class Mse final : public Calibrator {
 public:
  Range choose(const Summary& seen, const QuantSpec& spec) const override {
    constexpr int kStepsPerOctave = 8;
    // Zeros are exact on every grid and cost nothing.
    const Density values(seen);
    return least_cost_range(seen, spec, kStepsPerOctave, [&](const Range& range) {
      return values.error(Grid(to_quant_params({range}, spec)));
    });
  }
};

}  // namespace
}  // namespace tare

TARE_CALIBRATOR(mse) {
  using namespace tare;
  return {.name = "mse",
          .summary = "the range with the least mean squared error",
          .options = {},
          .make = [](const CalibratorOptions&) { return std::make_unique<Mse>(); }};
}
