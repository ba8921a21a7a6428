#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace tare {

/// A sum of unknowns with factors that was measured.
struct MeasuredSum {
  std::vector<std::pair<std::size_t, double>> terms;  ///< index of the unknown, factor
  double value = 0;
  double weight = 1;  ///< of its squared error
};

/// Values of the unknowns, none of them negative, with the least weighted sum of squared
/// errors: by coordinate descent (Franc, Hlavac and Navara, "Sequential Coordinate-Wise
/// Algorithm for the Non-negative Least Squares Problem", 2005). Unknowns that no sum has are
/// 0.
std::vector<double> least_squares(const std::vector<MeasuredSum>&, std::size_t unknowns);

}  // namespace tare
