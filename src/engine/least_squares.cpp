#include "engine/least_squares.h"

#include <algorithm>
#include <cmath>

namespace tare {

std::vector<double> least_squares(const std::vector<MeasuredSum>& sums, std::size_t unknowns) {
  // Each sum keeps what it lacks; a step along one unknown changes those that have it.
  std::vector<std::vector<std::pair<std::size_t, double>>> uses(unknowns);
  std::vector<double> lack(sums.size());
  std::vector<double> curvature(unknowns, 0);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    lack[i] = sums[i].value;
    for (const auto& [unknown, factor] : sums[i].terms) {
      uses[unknown].emplace_back(i, factor);
      curvature[unknown] += sums[i].weight * factor * factor;
    }
  }
  std::vector<double> result(unknowns, 0);
  constexpr int kSweeps = 3000;
  constexpr double kSettled = 1e-9;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    double largest = 0;
    for (std::size_t k = 0; k < unknowns; ++k) {
      if (curvature[k] == 0) {
        continue;
      }
      double slope = 0;
      for (const auto& [sum, factor] : uses[k]) {
        slope += sums[sum].weight * factor * lack[sum];
      }
      const double step = std::max(slope / curvature[k], -result[k]);
      result[k] += step;
      for (const auto& [sum, factor] : uses[k]) {
        lack[sum] -= step * factor;
      }
      largest = std::max(largest, std::abs(step) / (std::abs(result[k]) + 1));
    }
    if (largest < kSettled) {
      break;
    }
  }
  return result;
}

}  // namespace tare
