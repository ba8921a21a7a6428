// Softmax of 8-bit storage values as TensorFlow Lite's kernels compute it, with results in 256
// steps, or of int8 in 65536.
//
// The reference kernel works in fixed point, as gemmlowp's functions do: differences from the
// largest in Q5.26, exponentials in Q0.31, two for each element. The optimized ones read
// exponentials of all 256 differences from a table in float32.
#include "execute/elements/dispatch.h"
#include "execute/elements/fixed_point_math.h"
#include "execute/operands.h"
#include "graph/arithmetic/node_arithmetic.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace tare {
namespace {

/// A row of storage values and of results; neighbours are `stride` apart.
template <class Q, class Y>
struct SoftmaxRow {
  const Q* x;
  Y* y;
  std::size_t count;
  std::size_t stride;

  std::int32_t largest() const {
    std::int32_t result = std::numeric_limits<Q>::min();
    for (std::size_t i = 0; i < count; ++i) {
      result = std::max<std::int32_t>(result, x[i * stride]);
    }
    return result;
  }
};

/// More may not have a sum in Q12.19.
constexpr std::size_t kMostElements = 4095;

template <class Q>
Q held(std::int64_t value) {
  return static_cast<Q>(std::clamp<std::int64_t>(value, std::numeric_limits<Q>::min(),
                                                 std::numeric_limits<Q>::max()));
}

/// Differences from the largest in Q5.26, exponentials in Q0.31, their sum in Q12.19. What is
/// too far below the largest is 0.
class FixedPointSoftmax {
 public:
  explicit FixedPointSoftmax(float scale)
      : factor_(
            fixed_point_factor(std::min(static_cast<double>(scale) * 0x1p26, 2147483647.0))),
        lowest_(-static_cast<std::int32_t>(
            std::floor(31 * 0x1p26 / std::ldexp(1, factor_.exponent)))) {}

  bool applies() const { return factor_.exponent >= 0; }

  template <class Q, class Y>
  void operator()(const SoftmaxRow<Q, Y>& row) const {
    const std::int32_t largest = row.largest();
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < row.count; ++i) {
      const std::int32_t difference = row.x[i * row.stride] - largest;
      sum += difference < lowest_ ? 0 : shifted_right(exponential(difference), 12);
    }
    const int headroom = std::countl_zero(static_cast<std::uint32_t>(sum));
    const auto normalized =
        static_cast<std::int32_t>((static_cast<std::uint32_t>(sum) << headroom) - (1U << 31));
    const std::int32_t reciprocal = one_over_one_plus(normalized);
    const int right = 12 - headroom + 31 - std::numeric_limits<std::make_unsigned_t<Y>>::digits;
    for (std::size_t i = 0; i < row.count; ++i) {
      const std::int32_t difference = row.x[i * row.stride] - largest;
      const std::int32_t share =
          difference < lowest_
              ? 0
              : shifted_right(doubled_high_product(reciprocal, exponential(difference)), right);
      row.y[i * row.stride] = held<Y>(std::int64_t{share} + std::numeric_limits<Y>::min());
    }
  }

 private:
  std::int32_t exponential(std::int32_t difference) const {
    return exp_of_negative(rescale_twice(difference, factor_), 5);
  }

  FixedPointFactor factor_;
  std::int32_t lowest_;
};

/// A table of exponentials in float32, by the distance from the largest; sums go from left to
/// right.
class TableSoftmax {
 public:
  TableSoftmax(float scale, float step) : step_(step) {
    for (std::size_t distance = 0; distance < table_.size(); ++distance) {
      table_[distance] = static_cast<float>(
          std::exp(static_cast<double>(-scale * static_cast<float>(distance))));
    }
  }

  bool applies() const { return true; }

  template <class Q, class Y>
  void operator()(const SoftmaxRow<Q, Y>& row) const {
    const std::int32_t largest = row.largest();
    const auto exponential = [&](std::size_t i) {
      return table_[static_cast<std::size_t>(largest - row.x[i * row.stride])];
    };
    float sum = 0;
    for (std::size_t i = 0; i < row.count; ++i) {
      sum += exponential(i);
    }
    const float inverse = 1.0F / (sum * step_);
    for (std::size_t i = 0; i < row.count; ++i) {
      row.y[i * row.stride] =
          held<Y>(std::lround(exponential(i) * inverse) + std::numeric_limits<Y>::min());
    }
  }

 private:
  float step_;  // of the result
  std::array<float, 256> table_{};
};

template <class Q, class Y, class Algorithm>
std::unique_ptr<Kernel> for_rows(const AxisView& view, const Algorithm& softmax) {
  if (!softmax.applies()) {
    return nullptr;
  }
  return make_kernel([=](const Buffers& buffers) {
    const Q* x = input<Q>(buffers, 0);
    Y* y = output<Y>(buffers, 0);
    for (std::size_t outer = 0; outer < view.outer; ++outer) {
      for (std::size_t inner = 0; inner < view.inner; ++inner) {
        const std::size_t at = outer * view.extent * view.inner + inner;
        softmax(SoftmaxRow<Q, Y>{x + at, y + at, view.extent, view.inner});
      }
    }
  });
}

/// The kernels take the whole of the storage type for what lies between 0 and 1. Of 16 bits
/// files have steps of 1 / 65535, too.
bool has_expected_steps(const QuantParams& from, const QuantParams& to) {
  constexpr float kStep = 0x1p-8F;
  constexpr float kWideStep = 0x1p-16F;
  if (to.zero_point[0] != to.range().low) {
    return false;
  }
  return to.storage == DType::kInt16 ? from.storage == DType::kInt8 &&
                                           std::abs(to.scale[0] - kWideStep) <= kWideStep / 1000
                                     : to.storage == from.storage && to.scale[0] == kStep;
}

std::unique_ptr<Kernel> make_fixed_point_softmax(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const auto& from = x.type->quant;
  const auto& to = request.outputs[0].type->quant;
  if (!from || !to || from->per_axis() || to->per_axis() || !has_expected_steps(*from, *to)) {
    return nullptr;
  }
  expect_shape(request.outputs[0], x.shape());
  const AxisView view = view_axis(x, axis_of(request, -1, x.shape().size()));
  if (view.extent < 1 || view.extent > kMostElements) {
    return nullptr;
  }
  const bool by_table = numerics(request.attributes()) != Numerics::kTfliteRef;
  const auto make = [&]<class Q, class Y>(Tag<Q>, Tag<Y>) {
    return by_table ? for_rows<Q, Y>(view, TableSoftmax(from->scale[0], to->scale[0]))
                    : for_rows<Q, Y>(view, FixedPointSoftmax(from->scale[0]));
  };
  if (to->storage == DType::kInt16) {
    return make(Tag<std::int8_t>{}, Tag<std::int16_t>{});
  }
  return dispatch(Types<std::int8_t, std::uint8_t>{}, from->storage,
                  [&]<class Q>(Tag<Q> tag) { return make(tag, tag); });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(fixed_point_softmax) {
  using namespace tare;
  return {.ops = {"Softmax"},
          .layout = follow,
          .make = make_fixed_point_softmax,
          .for_storage = true,
          .numerics = {Numerics::kTfliteRef, Numerics::kTfliteBuiltin, Numerics::kTfliteXnn}};
}
