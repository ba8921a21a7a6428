#include "kernels/trial.h"
#include "support/graphs.h"
#include "support/index.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// One operand position with its share in a result.
struct Share {
  std::int64_t index;
  double weight;
};

/// What ONNX's Resize is told.
struct Resize {
  Shape from, to;
  std::vector<float> scales;  ///< empty: `to` is given instead
  std::string mode, coordinate, nearest;
  float cubic_a = -0.75F;
  bool exclude_outside = false;

  double scale(std::size_t axis) const {
    return scales.empty() ? static_cast<double>(to[axis]) / static_cast<double>(from[axis])
                          : static_cast<double>(scales[axis]);
  }

  /// Length of the result before it is rounded down.
  double length(std::size_t axis) const {
    return scales.empty() ? static_cast<double>(to[axis])
                          : static_cast<double>(from[axis]) * scale(axis);
  }

  /// The formulas of ONNX's table of coordinate_transformation_mode.
  double original(std::size_t axis, std::int64_t index) const {
    const auto x = static_cast<double>(index);
    const auto in = static_cast<double>(from[axis]);
    if (coordinate == "asymmetric") {
      return x / scale(axis);
    }
    if (coordinate == "align_corners") {
      return to[axis] == 1 ? 0 : x * (in - 1) / (length(axis) - 1);
    }
    if (coordinate == "pytorch_half_pixel" && to[axis] == 1) {
      return 0;
    }
    return (x + 0.5) / scale(axis) - (coordinate == "tf_half_pixel_for_nn" ? 0 : 0.5);
  }

  std::vector<Share> shares(std::size_t axis, std::int64_t index) const;
};

/// Of a neighbour at that distance, in cubic convolution.
double cubic_weight(double distance, double a) {
  const double d = std::abs(distance);
  return d <= 1  ? (a + 2) * d * d * d - (a + 3) * d * d + 1
         : d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a
                 : 0;
}

double rounded(const std::string& mode, double x) {
  if (mode == "floor" || mode == "ceil") {
    return mode == "floor" ? std::floor(x) : std::ceil(x);
  }
  const double down = std::floor(x);
  const double rest = x - down;
  return rest < 0.5 || (rest == 0.5 && mode == "round_prefer_floor") ? down : down + 1;
}

std::vector<Share> Resize::shares(std::size_t axis, std::int64_t index) const {
  const double x = original(axis, index);
  const std::int64_t last = from[axis] - 1;
  if (mode == "nearest") {
    const auto at = static_cast<std::int64_t>(rounded(nearest, x));
    return {{std::clamp<std::int64_t>(at, 0, last), 1}};
  }
  const auto left = static_cast<std::int64_t>(std::floor(x));
  const bool linear = mode == "linear";
  std::vector<Share> result;
  double sum = 0;
  for (std::int64_t i = linear ? left : left - 1; i <= left + (linear ? 1 : 2); ++i) {
    const double distance = x - static_cast<double>(i);
    const double weight =
        linear ? 1 - std::abs(distance) : cubic_weight(distance, static_cast<double>(cubic_a));
    const bool counts = !exclude_outside || (i >= 0 && i <= last);
    result.push_back({std::clamp<std::int64_t>(i, 0, last), counts ? weight : 0});
    sum += result.back().weight;
  }
  for (Share& share : result) {
    share.weight /= exclude_outside ? sum : 1;
  }
  return result;
}

Resize random_resize(bool only_nearest, Random& random) {
  const auto pick = [&](const auto& names) {
    return std::string(
        names.at(static_cast<std::size_t>(random.integer(0, std::ssize(names) - 1))));
  };
  Resize resize;
  resize.mode = only_nearest ? "nearest" : pick(std::array{"nearest", "linear", "cubic"});
  resize.coordinate =
      resize.mode == "nearest" && one_in(4, random)
          ? "tf_half_pixel_for_nn"
          : pick(std::array{"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"});
  resize.nearest = pick(std::array{"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  resize.cubic_a = random.coin() ? -0.75F : -0.5F;
  resize.exclude_outside = resize.mode == "cubic" && one_in(3, random);
  const std::int64_t axes = one_in(5, random) ? random.integer(1, 3) : 2;
  const bool by_scales = random.coin();
  resize.from = {random.integer(1, 2),
                 one_in(3, random) ? random_channels(random) : random.integer(1, 9)};
  resize.to = resize.from;
  std::vector<float> scales{1, 1};
  for (std::int64_t i = 0; i < axes; ++i) {
    resize.from.push_back(one_in(4, random) ? 1 : random.integer(1, 9));
    constexpr std::array kScales{0.5F, 0.75F, 1.F, 1.5F, 2.F, 3.F, 4.F, 1.25F};
    scales.push_back(kScales.at(static_cast<std::size_t>(random.integer(0, 7))));
    if (static_cast<float>(resize.from.back()) * scales.back() < 1) {
      scales.back() = 2;
    }
    resize.to.push_back(by_scales ? static_cast<std::int64_t>(
                                        static_cast<float>(resize.from.back()) * scales.back())
                                  : random.integer(1, 12));
  }
  if (by_scales) {
    resize.scales = scales;
  }
  return resize;
}

/// The sum at one place of the result, and what its weights may be off by.
struct Resized {
  Sum sum;
  double weights_off = 0;
};

/// Weights are sums of terms below 8 in double, so next to 0 they are no better than those.
Resized resized(const Resize& resize, const std::vector<double>& x, const Shape& at) {
  std::vector<Share> all{{0, 1}};
  for (std::size_t axis = 0; axis < at.size(); ++axis) {
    std::vector<Share> finer;
    // What keeps its extent is not resampled, whatever the coordinates say.
    const std::vector<Share> own = resize.scale(axis) == 1 ? std::vector<Share>{{at[axis], 1}}
                                                           : resize.shares(axis, at[axis]);
    for (const Share& so_far : all) {
      for (const Share& share : own) {
        finer.push_back(
            {so_far.index * resize.from[axis] + share.index, so_far.weight * share.weight});
      }
    }
    all = std::move(finer);
  }
  Resized result;
  for (const Share& share : all) {
    const double value = x[static_cast<std::size_t>(share.index)];
    result.sum.add(share.weight, value);
    result.weights_off += 8 * std::numeric_limits<double>::epsilon() * std::abs(value);
  }
  return result;
}

std::string wrong_resize(const Resize& resize, Trial& trial, const Trial::Operand& x,
                         TensorType type) {
  type.shape = resize.to;
  const auto values = x.values.to_double();
  Expected expected(static_cast<std::size_t>(element_count(resize.to)));
  std::size_t i = 0;
  for_each_index(resize.to, [&](const Shape& at) {
    const auto [sum, weights_off] = resized(resize, values, at);
    expected.values[i] = sum.value;
    // Besides the sum, the weights of each axis were rounded.
    expected.bounds[i++] =
        resize.mode == "nearest"
            ? 0
            : sum.bound() + weights_off +
                  static_cast<double>(at.size()) * sum.magnitude *
                      static_cast<double>(std::numeric_limits<float>::epsilon());
  });
  const auto rank = static_cast<std::int64_t>(resize.from.size());
  std::vector<ValueId> operands{x.id, ValueId()};
  if (resize.scales.empty()) {
    operands.push_back(ValueId());
    operands.push_back(
        trial.constant(Tensor::of<std::int64_t>({rank}, std::vector(resize.to))).id);
  } else {
    operands.push_back(trial.constant(Tensor::of<float>({rank}, resize.scales)).id);
  }
  const ValueId y = trial.add("Resize", operands, type,
                              {{"mode", resize.mode},
                               {"coordinate_transformation_mode", resize.coordinate},
                               {"nearest_mode", resize.nearest},
                               {"cubic_coeff_a", resize.cubic_a},
                               {"exclude_outside", std::int64_t{resize.exclude_outside}}});
  return trial.wrong(y, expected);
}

TEST(RandomShapes, OfResizesGiveTheSumsOfAPlainLoop) {
  hold_for_random_shapes([](Random& random) {
    const Resize resize = random_resize(false, random);
    Trial trial(random);
    const auto x = trial.operand(resize.from, false);
    return wrong_resize(resize, trial, x, f32({}));
  });
}

TEST(RandomShapes, OfIntegerResizesMoveTheVeryIntegers) {
  hold_for_random_shapes([](Random& random) {
    const Resize resize = random_resize(true, random);
    Trial trial(random);
    constexpr std::array kTypes{DType::kInt8, DType::kUint8, DType::kInt16, DType::kUint16};
    const DType dtype = kTypes.at(static_cast<std::size_t>(random.integer(0, 3)));
    const QuantParams params{.storage = dtype, .scale = {0.25F}, .zero_point = {3}, .axis = {}};
    TensorType type{.dtype = dtype, .shape = resize.from, .quant = params, .point = {}};
    const auto x = trial.operand(random_storage(dtype, resize.from, random), type, false);
    return wrong_resize(resize, trial, x, type);
  });
}

}  // namespace
}  // namespace tare::test
