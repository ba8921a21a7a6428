// Requantize of the canonical integer graph: from storage values or accumulators to storage
// values of other parameters. Parameters come from the types, the rounding from attributes.

#include "tare/error.h"

#include "execute/elements/rounding.h"
#include "execute/kernel.h"
#include "graph/arithmetic/node_arithmetic.h"
#include "graph/arithmetic/power_of_two.h"
#include "graph/arithmetic/rescale.h"
#include "graph/arithmetic/storage_type.h"

#include <algorithm>
#include <cmath>

namespace tare {
namespace {

struct Rescaling {
  Shape shape;  ///< in memory order
  std::optional<std::size_t> axis;
  std::vector<double> factor;           ///< input scale over output scale
  std::vector<FixedPointFactor> fixed;  ///< what is made of it in fixed point
  std::vector<std::int32_t> zero_in;
  std::int32_t zero_out;
  StorageRange range;
};

Rescaling rescaling(const Operand& input, const QuantParams& to) {
  const QuantParams& from = *input.type->quant;
  Rescaling result{.shape = input.physical_shape(),
                   .axis = {},
                   .factor = {},
                   .fixed = {},
                   .zero_in = from.zero_point,
                   .zero_out = to.zero_point[0],
                   .range = to.range()};
  if (from.axis) {
    result.axis = input.physical_axis(static_cast<std::size_t>(*from.axis));
  }
  for (const float scale : from.scale) {
    result.factor.push_back(static_cast<double>(scale) / static_cast<double>(to.scale[0]));
  }
  return result;
}

/// `round` is given the product and the zero point to be added.
template <class In, class Out, class Round>
std::unique_ptr<Kernel> in_float(const Rescaling& r, Round round) {
  std::vector<float> factor(r.factor.begin(), r.factor.end());
  std::transform(factor.begin(), factor.end(), factor.begin(), finite_factor<float>);
  const std::vector<float> zero_in(r.zero_in.begin(), r.zero_in.end());
  const auto zero_out = static_cast<float>(r.zero_out);
  const auto low = static_cast<float>(r.range.low);
  const auto high = static_cast<float>(r.range.high);
  return make_kernel([=, shape = r.shape, axis = r.axis](const Buffers& buffers) {
    map_channels(shape, axis, reinterpret_cast<const In*>(buffers.inputs[0]),
                 reinterpret_cast<Out*>(buffers.outputs[0]), [&](In q, std::size_t channel) {
                   const float x = (static_cast<float>(q) - zero_in[channel]) * factor[channel];
                   return static_cast<Out>(std::clamp(round(x, zero_out), low, high));
                 });
  });
}

template <class In, class Out>
std::unique_ptr<Kernel> in_float(const Rescaling& r, RequantizeRounding rounding) {
  switch (rounding) {
    // Where halves are not shared out evenly it matters that TVM adds the zero point first.
    case RequantizeRounding::kUpward:
      return in_float<In, Out>(r,
                               [](float x, float zero) { return std::floor(x + zero + 0.5F); });
    case RequantizeRounding::kToNearest:
      return in_float<In, Out>(r, [](float x, float zero) { return std::round(x + zero); });
    default:
      return in_float<In, Out>(r, [](float x, float zero) { return std::rint(x) + zero; });
  }
}

template <class In, class Out, class Rescale>
std::unique_ptr<Kernel> in_fixed_point(const Rescaling& r, Rescale rescale) {
  return make_kernel([=](const Buffers& buffers) {
    map_channels(
        r.shape, r.axis, reinterpret_cast<const In*>(buffers.inputs[0]),
        reinterpret_cast<Out*>(buffers.outputs[0]), [&](In q, std::size_t channel) {
          const std::int64_t centred = std::int64_t{q} - r.zero_in[channel];
          const std::int64_t scaled = rescale(centred, r.fixed[channel]);
          return static_cast<Out>(std::clamp(scaled + r.zero_out, r.range.low, r.range.high));
        });
  });
}

/// Sums of 64 bits as they are, other values as int32.
template <class In, bool kAwayFromZero>
std::int32_t rescaled_once(std::int64_t value, FixedPointFactor factor) {
  if constexpr (sizeof(In) > sizeof(std::int32_t)) {
    return rescale_once<kAwayFromZero>(value, factor);
  } else {
    return rescale_once<kAwayFromZero>(saturated(value), factor);
  }
}

template <class In, class Out>
std::unique_ptr<Kernel> in_fixed_point(const Rescaling& r, RequantizeRounding rounding) {
  switch (rounding) {
    case RequantizeRounding::kToNearest:
      return in_fixed_point<In, Out>(r, rescaled_once<In, true>);
    case RequantizeRounding::kTfliteDouble:
      if constexpr (sizeof(In) > sizeof(std::int32_t)) {
        throw Error(ErrorCode::kUnsupported, "",
                    "rounds sums of 16-bit values as 'tflite_double' does sums of int32")
            .expected("half_even, upward, to_nearest, tflite_single or shift");
      } else {
        return in_fixed_point<In, Out>(r, [](std::int64_t value, FixedPointFactor factor) {
          return rescale_twice(saturated(value), factor);
        });
      }
    default:
      return in_fixed_point<In, Out>(r, rescaled_once<In, false>);
  }
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  const auto& from = request.inputs[0].type->quant;
  const auto& to = request.outputs[0].type->quant;
  if (!from || !to || to->per_axis()) {
    return nullptr;
  }
  const RequantizeMode mode = requantize_mode(request.node->attributes);
  const bool is_float = mode.arithmetic == RequantizeArithmetic::kFloat;
  if (is_sum_type(to->storage) && (is_float || to->storage == DType::kInt64)) {
    return nullptr;  // its ends are not float32 numbers, or not what rescaling gives
  }
  Rescaling r = rescaling(request.inputs[0], *to);
  r.fixed = fixed_point_factors(request.attributes());
  if (r.fixed.empty()) {
    for (const double exact : r.factor) {
      r.fixed.push_back(fixed_point_factor(exact));
    }
  }
  if (r.fixed.size() != r.factor.size()) {
    throw Error(ErrorCode::kInvalidModel, "",
                "states " + std::to_string(r.fixed.size()) + " factors")
        .expected(std::to_string(r.factor.size()) + ", as its operand has scales");
  }
  if (mode.rounding == RequantizeRounding::kShift &&
      !std::all_of(r.factor.begin(), r.factor.end(), is_power_of_two)) {
    throw Error(ErrorCode::kInvalidModel, "", "rounding is 'shift' between these scales")
        .expected("scales whose ratio is a power of two");
  }
  return with_storage(from->storage, [&](auto in) {
    return with_storage(to->storage, [&](auto out) {
      using In = decltype(in);
      using Out = decltype(out);
      return is_float ? in_float<In, Out>(r, mode.rounding)
                      : in_fixed_point<In, Out>(r, mode.rounding);
    });
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(requantize) {
  using namespace tare;
  return {.ops = {"Requantize"},
          .layout = [](const KernelRequest&) { return LayoutRule::kFollow; },
          .make = make,
          .for_storage = true};
}
