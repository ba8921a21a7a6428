#include "kernels/trial.h"
#include "support/graphs.h"

#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr double kEpsilon = std::numeric_limits<float>::epsilon();

/// [batch, channels, spatial...], small and of one position often.
Shape random_image(std::int64_t least_rank, Random& random) {
  Shape shape{random.integer(1, 2), random_channels(random)};
  const std::int64_t axes =
      std::max(least_rank - 2, one_in(5, random) ? random.integer(0, 3) : 2);
  for (std::int64_t i = 0; i < axes; ++i) {
    shape.push_back(one_in(3, random) ? 1 : random.integer(1, 7));
  }
  return shape;
}

std::size_t channel_of(const Shape& shape, std::size_t element) {
  std::int64_t inner = 1;
  for (std::size_t axis = 2; axis < shape.size(); ++axis) {
    inner *= shape[axis];
  }
  return element / static_cast<std::size_t>(inner) % static_cast<std::size_t>(shape[1]);
}

std::size_t count_of(const Shape& shape) {
  return static_cast<std::size_t>(element_count(shape));
}

/// Positive, and not next to 0.
Tensor variances(std::int64_t count, Random& random) {
  Tensor tensor = random.tensor({count});
  for (float& value : tensor.mutable_view<float>()) {
    value = 0.25F + std::abs(value);
  }
  return tensor;
}

/// y = x f + (b - m f) with f = s / sqrt(v + e): six roundings of the parts.
std::string wrong_batch_norm(Random& random) {
  const Shape shape = random_image(2, random);
  Trial trial(random);
  const auto x = trial.operand(shape, false);
  const auto scale = trial.operand({shape[1]}, true);
  const auto bias = trial.operand({shape[1]}, true);
  const auto mean = trial.operand({shape[1]}, true);
  const auto variance = trial.constant(variances(shape[1], random));
  Expected expected(count_of(shape));
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    const std::size_t c = channel_of(shape, i);
    const auto at = [&](const Trial::Operand& operand, std::size_t k) {
      return static_cast<double>(operand.values.view<float>()[k]);
    };
    const double factor = at(scale, c) / std::sqrt(at(variance, c) + 1e-5);
    expected.values[i] = (at(x, i) - at(mean, c)) * factor + at(bias, c);
    expected.bounds[i] =
        6 * kEpsilon *
        (std::abs(at(x, i) * factor) + std::abs(at(mean, c) * factor) + std::abs(at(bias, c)));
  }
  return trial.wrong(
      trial.add("BatchNormalization", {x.id, scale.id, bias.id, mean.id, variance.id},
                f32(shape), {{"epsilon", 1e-5F}}),
      expected);
}

/// Mean and deviation of one row, with bounds for what summing it in float may be off by.
struct Moments {
  double mean = 0, variance = 0, mean_error = 0, variance_error = 0;

  explicit Moments(const std::vector<double>& row) {
    const auto n = static_cast<double>(row.size());
    Sum sum;
    double largest = 0;
    for (const double x : row) {
      sum.add(1, x);
      largest = std::max(largest, std::abs(x));
    }
    mean = sum.value / n;
    mean_error = sum.bound() / n;
    for (const double x : row) {
      variance += (x - mean) * (x - mean) / n;
    }
    // Each distance is off by the mean's error and one rounding; the squares add up as above.
    const double distance_error = mean_error + kEpsilon * (largest + std::abs(mean));
    variance_error = distance_error * (2 * std::sqrt(variance) + distance_error) +
                     (n + 2) * kEpsilon * variance;
  }

  /// Of d / sqrt(variance + e), d = x - mean.
  double normalized(double x, double epsilon) const {
    return (x - mean) / std::sqrt(variance + epsilon);
  }
  double error(double x, double epsilon) const {
    const double spread = variance + epsilon;
    const double relative = variance_error / spread + 4 * kEpsilon;
    return (mean_error + kEpsilon * std::abs(x) + kEpsilon * std::abs(mean)) /
               std::sqrt(spread) +
           std::abs(normalized(x, epsilon)) * relative;
  }
};

struct Affine {
  double factor = 1, offset = 0;
};

/// Normalizes each group of elements, given by number, by its moments.
Expected normalized(const std::vector<double>& x, double epsilon, std::size_t groups,
                    const std::function<std::size_t(std::size_t)>& group_of,
                    const std::function<Affine(std::size_t)>& affine) {
  std::vector<std::vector<double>> rows(groups);
  for (std::size_t i = 0; i < x.size(); ++i) {
    rows[group_of(i)].push_back(x[i]);
  }
  const std::vector<Moments> moments(rows.begin(), rows.end());
  Expected expected(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Moments& of = moments[group_of(i)];
    const auto [factor, offset] = affine(i);
    const double y = of.normalized(x[i], epsilon) * factor;
    expected.values[i] = y + offset;
    expected.bounds[i] = std::abs(factor) * of.error(x[i], epsilon) +
                         3 * kEpsilon * (std::abs(y) + std::abs(offset));
  }
  return expected;
}

std::string wrong_layer_norm(Random& random) {
  Shape shape = random_image(2, random);
  const auto axis = static_cast<std::size_t>(random.integer(1, std::ssize(shape) - 1));
  const Shape row(shape.begin() + static_cast<std::ptrdiff_t>(axis), shape.end());
  Trial trial(random);
  const auto x = trial.operand(shape, false);
  const auto scale = trial.operand(row, true);
  const bool has_bias = random.coin();
  const auto bias = trial.operand(row, true);
  const std::size_t length = count_of(row);
  const Expected expected = normalized(
      x.values.to_double(), 1e-3F, count_of(shape) / length,
      [&](std::size_t i) { return i / length; },
      [&](std::size_t i) {
        return Affine{
            static_cast<double>(scale.values.view<float>()[i % length]),
            has_bias ? static_cast<double>(bias.values.view<float>()[i % length]) : 0.0};
      });
  std::vector<ValueId> operands{x.id, scale.id};
  if (has_bias) {
    operands.push_back(bias.id);
  }
  const std::int64_t given = random.coin()
                                 ? static_cast<std::int64_t>(axis)
                                 : static_cast<std::int64_t>(axis) - std::ssize(shape);
  return trial.wrong(trial.add("LayerNormalization", operands, f32(shape),
                               {{"epsilon", 1e-3F}, {"axis", given}}),
                     expected);
}

std::string wrong_instance_norm(Random& random) {
  const Shape shape = random_image(3, random);
  Trial trial(random);
  const auto x = trial.operand(shape, false);
  const auto scale = trial.operand({shape[1]}, true);
  const auto bias = trial.operand({shape[1]}, true);
  const auto planes = static_cast<std::size_t>(shape[0] * shape[1]);
  const std::size_t positions = count_of(shape) / planes;
  const Expected expected = normalized(
      x.values.to_double(), 1e-3F, planes, [&](std::size_t i) { return i / positions; },
      [&](std::size_t i) {
        const std::size_t c = channel_of(shape, i);
        return Affine{static_cast<double>(scale.values.view<float>()[c]),
                      static_cast<double>(bias.values.view<float>()[c])};
      });
  return trial.wrong(trial.add("InstanceNormalization", {x.id, scale.id, bias.id}, f32(shape),
                               {{"epsilon", 1e-3F}}),
                     expected);
}

/// Elements of one row along an axis, for every row.
std::vector<std::vector<std::size_t>> rows_along(const Shape& shape, std::size_t axis) {
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) {
    inner *= static_cast<std::size_t>(shape[i]);
  }
  const auto extent = static_cast<std::size_t>(shape[axis]);
  std::vector<std::vector<std::size_t>> rows(count_of(shape) / extent);
  for (std::size_t i = 0; i < count_of(shape); ++i) {
    rows[i / (inner * extent) * inner + i % inner].push_back(i);
  }
  return rows;
}

/// The exponential is good to 3 units in the last place, and its argument rounded once; then
/// there are so many sums and a quotient.
std::string wrong_softmax(Random& random) {
  const Shape shape = random_image(2, random);
  const auto axis = static_cast<std::size_t>(random.integer(0, std::ssize(shape) - 1));
  const bool log = one_in(3, random);
  Trial trial(random);
  const auto x = trial.operand(shape, false);
  const auto values = x.values.to_double();
  Expected expected(values.size());
  for (const auto& row : rows_along(shape, axis)) {
    double peak = -std::numeric_limits<double>::infinity();
    for (const std::size_t i : row) {
      peak = std::max(peak, values[i]);
    }
    double sum = 0;
    for (const std::size_t i : row) {
      sum += std::exp(values[i] - peak);
    }
    for (const std::size_t i : row) {
      const double shifted = values[i] - peak;
      const double relative =
          (static_cast<double>(row.size()) + 16 + 6 + 2 * std::abs(shifted)) * kEpsilon;
      expected.values[i] = log ? shifted - std::log(sum) : std::exp(shifted) / sum;
      expected.bounds[i] = relative * (log ? 1 + std::abs(expected.values[i]) + std::log(sum)
                                           : expected.values[i]);
    }
  }
  return trial.wrong(trial.add(log ? "LogSoftmax" : "Softmax", {x.id}, f32(shape),
                               {{"axis", static_cast<std::int64_t>(axis)}}),
                     expected);
}

/// Sums in double, one rounding.
std::string wrong_lp_normalization(Random& random) {
  const Shape shape = random_image(2, random);
  const auto axis = static_cast<std::size_t>(random.integer(0, std::ssize(shape) - 1));
  const std::int64_t p = random.integer(1, 2);
  Trial trial(random);
  const auto x = trial.operand(shape, false);
  const auto values = x.values.to_double();
  Expected expected(values.size());
  for (const auto& row : rows_along(shape, axis)) {
    double norm = 0;
    for (const std::size_t i : row) {
      norm += p == 1 ? std::abs(values[i]) : values[i] * values[i];
    }
    norm = p == 1 ? norm : std::sqrt(norm);
    for (const std::size_t i : row) {
      expected.values[i] = norm == 0 ? 0 : values[i] / norm;
      expected.bounds[i] = kEpsilon * std::abs(expected.values[i]);
    }
  }
  return trial.wrong(trial.add("LpNormalization", {x.id}, f32(shape),
                               {{"axis", static_cast<std::int64_t>(axis)}, {"p", p}}),
                     expected);
}

/// The base has as many roundings as squares and four more, and its power as many times beta.
std::string wrong_lrn(Random& random) {
  const Shape shape = random_image(3, random);
  const std::int64_t size = random.integer(1, 6);
  const double beta = 0.75;
  Trial trial(random);
  const auto x = trial.operand(shape, false);
  const auto values = x.values.to_double();
  Expected expected(values.size());
  for (const auto& row : rows_along(shape, 1)) {
    for (std::int64_t c = 0; c < std::ssize(row); ++c) {
      double squares = 0;
      for (std::int64_t i = c - (size - 1) / 2; i <= c + size / 2; ++i) {
        const double value =
            i >= 0 && i < std::ssize(row) ? values[row[static_cast<std::size_t>(i)]] : 0;
        squares += value * value;
      }
      const std::size_t at = row[static_cast<std::size_t>(c)];
      expected.values[at] =
          values[at] / std::pow(1 + 0.5 / static_cast<double>(size) * squares, beta);
      expected.bounds[at] =
          (static_cast<double>(size) + 4 + 2) * kEpsilon * std::abs(expected.values[at]);
    }
  }
  return trial.wrong(
      trial.add("LRN", {x.id}, f32(shape), {{"size", size}, {"alpha", 0.5F}, {"beta", 0.75F}}),
      expected);
}

TEST(RandomShapes, OfNormalizationsGiveWhatAPlainLoopGives) {
  hold_for_random_shapes([](Random& random) {
    constexpr std::array kProperties{wrong_batch_norm,    wrong_layer_norm,
                                     wrong_instance_norm, wrong_softmax,
                                     wrong_lrn,           wrong_lp_normalization};
    return kProperties.at(static_cast<std::size_t>(random.integer(0, 5)))(random);
  });
}

}  // namespace
}  // namespace tare::test
