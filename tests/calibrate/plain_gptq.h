#pragma once

#include "calibrate/rounding/gptq.h"

#include <span>
#include <vector>

namespace tare::test {

/// A task with a whole matrix.
struct MatrixTask : RoundingTask {
  /// As WeightMatrix reads them, in the order of the weights; or none.
  std::span<const float> steps;
};

/// round_by_gptq() in place.
void round_matrix(const MatrixTask&, std::span<float> weights, int threads);

/// What round_by_gptq() should choose, by the definitions in docs/quantization_math.md: in
/// double, one output after the other, with a system of equations for each column in place of a
/// factor of the Hessian. For no more columns than are rounded together.
std::vector<float> plain_gptq(const MatrixTask&, std::span<const float> weights);

/// Squared error of one output over the rows that are held out, or over the others.
double squared_error(const MatrixTask&, std::span<const float> weights,
                     std::span<const float> integers, std::size_t output, bool holdout);

/// How many outputs differ in an integer from the plain ones.
std::size_t outputs_unlike_plain(const MatrixTask&, std::span<const float> weights,
                                 std::span<const float> integers);

}  // namespace tare::test
