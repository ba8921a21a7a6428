// A range that holds every weight of a block makes steps that follow its largest ones. Cutting
// these off costs little where they are multiplied by little, and makes the others finer. The
// range is searched for as AWQ does it (Lin et al., 2023, and the clipping that their program
// adds), with two differences: weights count by the mean squares of their operands instead of
// by products with some rows, which takes one pass, and where zero points are free both ends
// move alone.
//
// Cost: 33 roundings of each weight where both ends move, else 11.
#include "calibrate/rounding/block_ranges.h"

#include "base/parallel.h"
#include "calibrate/rounding/weights.h"
#include "graph/arithmetic/range_params.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace tare {
namespace {

constexpr int kShares = 11;  ///< of an end: from all of it down to a half

double share(int i) {
  return 1 - 0.05 * i;
}

/// The weights of one block and how much the error of each counts.
struct Block {
  std::vector<float> weights;
  std::vector<double> importance;

  double error(const Range& range, const QuantSpec& spec) const {
    const StorageRange storage = storage_range(spec.storage, spec.narrow_range, spec.bits);
    const double widest = std::max({0.0, -range.low, range.high});
    const RangeParams params = range_params(range, widest, spec, storage);
    const auto low = static_cast<float>(storage.low);
    const auto high = static_cast<float>(storage.high);
    const auto zero = static_cast<float>(params.zero_point);
    const float scale = params.scale;
    double sum = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const float steps = std::clamp(std::nearbyint(weights[i] / scale) + zero, low, high);
      const double lost = static_cast<double>(weights[i]) -
                          static_cast<double>(scale) * static_cast<double>(steps - zero);
      sum += importance[i] * lost * lost;
    }
    return sum;
  }
};

Range fitted(const Block& block, const QuantSpec& spec) {
  const auto [least, most] = std::minmax_element(block.weights.begin(), block.weights.end());
  const Range whole{std::min(0.0F, *least), std::max(0.0F, *most)};
  Range best = whole;
  double least_error = block.error(whole, spec);
  const auto try_range = [&](const Range& range) {
    const double error = block.error(range, spec);
    if (error < least_error) {
      least_error = error;
      best = range;
    }
  };
  for (int i = 1; i < kShares; ++i) {
    try_range({whole.low * share(i), whole.high * share(i)});
  }
  if (!spec.symmetric) {
    const Range both = best;
    for (int i = 0; i < kShares; ++i) {
      try_range({whole.low * share(i), both.high});
    }
    const Range lower = best;
    for (int i = 0; i < kShares; ++i) {
      try_range({lower.low, whole.high * share(i)});
    }
  }
  return best;
}

std::vector<double> mean_squares(const LayerRows& rows) {
  const std::size_t columns = rows.matrix().columns;
  const std::span<const float> values = rows.values(0);
  std::vector<double> result(columns);
  for (std::size_t i = 0; i < values.size(); ++i) {
    result[i % columns] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  }
  // The floor is for columns that no row has, whose weights then count alike.
  double all = 0;
  for (double& square : result) {
    square /= static_cast<double>(rows.rows());
    all += square;
  }
  constexpr double kLeast = 1e-4;
  const double least = kLeast * all / static_cast<double>(columns) + 1e-30;
  for (double& square : result) {
    square = std::max(square, least);
  }
  return result;
}

}  // namespace

void fit_block_ranges(const Tensor& weights, const QuantSpec& spec, const LayerRows& rows,
                      int threads, PointResult& result) {
  const LayerMatrix& matrix = rows.matrix();
  const auto size = static_cast<std::size_t>(spec.block);
  const std::size_t blocks = (matrix.columns + size - 1) / size;
  const std::vector<double> importance = mean_squares(rows);
  const auto values = weights.view<float>();
  QuantSpec alone = spec;
  alone.granularity = Granularity::kPerTensor;
  alone.block = 0;
  std::vector<Range> calibrated(matrix.outputs * blocks);
  parallel_for(matrix.outputs, threads, [&](std::size_t, std::size_t output) {
    for (std::size_t b = 0; b < blocks; ++b) {
      Block block;
      for (std::size_t c = b * size; c < std::min((b + 1) * size, matrix.columns); ++c) {
        block.weights.push_back(values[matrix.at(0, output, c)]);
        block.importance.push_back(importance[c]);
      }
      // Scales lie as the weights do, with blocks in the place of columns.
      const std::size_t place =
          matrix.column_stride == 1 ? output * blocks + b : b * matrix.outputs + output;
      calibrated[place] = fitted(block, alone);
    }
  });
  result.params = to_quant_params(calibrated, spec);
  result.calibrated = {cover(calibrated)};
}

}  // namespace tare
