
#include "graph/arithmetic/node_arithmetic.h"
#include "kernels/layer.h"
#include "kernels/trial.h"
#include "support/graphs.h"
#include "support/index.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// A pool over [batch, channels, axes].
struct Pool {
  std::int64_t batch = 1, channels = 1;
  std::vector<SlidingAxis> axes;
  bool ceil = false, global = false, include_pad = false;

  Shape shape(std::int64_t SlidingAxis::*extent) const {
    Shape result{batch, channels};
    for (const SlidingAxis& axis : axes) {
      result.push_back(axis.*extent);
    }
    return result;
  }

  Attributes attributes() const {
    if (global) {
      return {};
    }
    std::vector<std::int64_t> kernel;
    for (const SlidingAxis& axis : axes) {
      kernel.push_back(axis.kernel);
    }
    Attributes result = sliding_attributes(axes);
    result.set("kernel_shape", kernel);
    result.set("ceil_mode", std::int64_t{ceil});
    result.set("count_include_pad", std::int64_t{include_pad});
    return result;
  }
};

/// Whether every window has a tap inside of the operand: no other has a maximum or a mean.
bool all_windows_have_taps(const SlidingAxis& axis) {
  for (std::int64_t y = 0; y < axis.out; ++y) {
    bool any = false;
    for (std::int64_t tap = 0; tap < axis.kernel; ++tap) {
      const std::int64_t x = y * axis.stride - axis.begin + tap * axis.dilation;
      any = any || (x >= 0 && x < axis.in);
    }
    if (!any) {
      return false;
    }
  }
  return true;
}

Pool random_pool(Random& random) {
  Pool pool;
  do {
    pool = {};
    pool.batch = random.integer(1, 2);
    pool.channels = random_channels(random);
    pool.axes = random_axes(random);
    pool.global = one_in(5, random);
    pool.ceil = !pool.global && random.coin();
    pool.include_pad = !pool.global && random.coin();
    for (SlidingAxis& axis : pool.axes) {
      if (pool.global) {
        axis = {.in = axis.in, .out = 1, .kernel = axis.in};
      } else if (pool.ceil && axis.room() % axis.stride != 0) {
        ++axis.out;
      }
    }
  } while (!std::all_of(pool.axes.begin(), pool.axes.end(), all_windows_have_taps));
  return pool;
}

/// Calls f(element of the result, of the operand) for every tap inside of the operand.
template <class F>
void for_each_tap(const Pool& pool, F f) {
  const auto extent = [&](std::int64_t SlidingAxis::*member) {
    std::int64_t count = 1;
    for (const SlidingAxis& axis : pool.axes) {
      count *= axis.*member;
    }
    return static_cast<std::size_t>(count);
  };
  const auto met = meetings(pool.axes);
  for (std::size_t plane = 0; plane < static_cast<std::size_t>(pool.batch * pool.channels);
       ++plane) {
    for (const Meeting& at : met) {
      f(plane * extent(&SlidingAxis::out) + at.y, plane * extent(&SlidingAxis::in) + at.x);
    }
  }
}

/// Of each result: the taps inside of the operand and its padding.
std::vector<double> padded_counts(const Pool& pool) {
  const Shape shape = pool.shape(&SlidingAxis::out);
  std::vector<double> counts;
  for_each_index(shape, [&](const Shape& at) {
    double count = 1;
    for (std::size_t i = 0; i < pool.axes.size(); ++i) {
      const SlidingAxis& axis = pool.axes[i];
      std::int64_t taps = 0;
      for (std::int64_t tap = 0; tap < axis.kernel; ++tap) {
        const std::int64_t x = at[i + 2] * axis.stride - axis.begin + tap * axis.dilation;
        taps += x < axis.in + axis.end ? 1 : 0;
      }
      count *= static_cast<double>(taps);
    }
    counts.push_back(count);
  });
  return counts;
}

std::string wrong_float_pool(Random& random) {
  const Pool pool = random_pool(random);
  Trial trial(random);
  const auto x = trial.operand(pool.shape(&SlidingAxis::in), false);
  const auto from = x.values.view<float>();
  const TensorType type = f32(pool.shape(&SlidingAxis::out));
  const auto count = static_cast<std::size_t>(element_count(type.shape));
  const bool average = random.coin();
  const std::string op =
      std::string(pool.global ? "Global" : "") + (average ? "AveragePool" : "MaxPool");
  std::vector<Sum> sums(count);
  std::vector<double> largest(count, -std::numeric_limits<double>::infinity());
  for_each_tap(pool, [&](std::size_t to, std::size_t at) {
    sums[to].add(1, static_cast<double>(from[at]));
    largest[to] = std::max(largest[to], static_cast<double>(from[at]));
  });
  Expected expected(count);
  const auto counts = padded_counts(pool);
  for (std::size_t i = 0; i < count; ++i) {
    const double taps = pool.include_pad ? counts[i] : sums[i].terms;
    expected.values[i] = average ? sums[i].value / taps : largest[i];
    // Every addition rounds once, and so does the division.
    expected.bounds[i] = average ? sums[i].bound() / taps : 0;
  }
  return trial.wrong(trial.add(op, {x.id}, type, pool.attributes()), expected);
}

TEST(RandomShapes, OfPoolsGiveWhatAPlainLoopGives) {
  hold_for_random_shapes(wrong_float_pool);
}

/// The integer nearest to a / b, halves away from zero; b > 0.
std::int64_t nearest_quotient(std::int64_t a, std::int64_t b) {
  const std::int64_t magnitude = (2 * std::abs(a) + b) / (2 * b);
  return a < 0 ? -magnitude : magnitude;
}

/// Maxima of storage values, and means of them rounded away from a centre.
std::string wrong_integer_pool(Random& random) {
  Pool pool = random_pool(random);
  pool.include_pad = false;
  constexpr std::array kTypes{DType::kInt8, DType::kUint8, DType::kInt16, DType::kUint16};
  const bool average = random.coin();
  const DType dtype = kTypes.at(static_cast<std::size_t>(random.integer(0, average ? 1 : 3)));
  const StorageRange range = storage_range(dtype, false);
  const QuantParams params{
      .storage = dtype,
      .scale = {0.25F},
      .zero_point = {static_cast<std::int32_t>(random.integer(range.low, range.high))},
      .axis = {}};
  const auto type = [&](std::int64_t SlidingAxis::*extent) {
    return TensorType{
        .dtype = dtype, .shape = pool.shape(extent), .quant = params, .point = {}};
  };
  Trial trial(random);
  const TensorType from = type(&SlidingAxis::in);
  const auto x = trial.operand(random_storage(dtype, from.shape, random), from, false);
  const TensorType to = type(&SlidingAxis::out);
  const auto count = static_cast<std::size_t>(element_count(to.shape));
  const auto values = x.values.to_int64();
  std::vector<std::int64_t> sums(count);
  std::vector<std::int64_t> taps(count);
  std::vector<std::int64_t> largest(count, range.low);
  const std::int32_t centre = random.coin() ? 0 : params.zero_point[0];
  for_each_tap(pool, [&](std::size_t at, std::size_t tap) {
    sums[at] += values[tap] - centre;
    largest[at] = std::max(largest[at], values[tap]);
    ++taps[at];
  });
  Expected expected(count);
  for (std::size_t i = 0; i < count; ++i) {
    expected.values[i] =
        static_cast<double>(average ? centre + nearest_quotient(sums[i], taps[i]) : largest[i]);
  }
  Attributes attributes = pool.attributes();
  if (average) {
    set_tie_breaking_point(attributes, centre);
  }
  const std::string op =
      std::string(pool.global ? "Global" : "") + (average ? "AveragePool" : "MaxPool");
  return trial.wrong(trial.add(op, {x.id}, to, attributes), expected);
}

TEST(RandomShapes, OfIntegerPoolsGiveTheVeryIntegersOfAPlainLoop) {
  hold_for_random_shapes(wrong_integer_pool);
}

}  // namespace
}  // namespace tare::test
