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
#include <array>
#include <cmath>
#include <type_traits>

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
                   .zero_in = from.zero_point.to_vector(),
                   .zero_out = to.zero_point[0],
                   .range = to.range()};
  if (from.axis) {
    result.axis = input.physical_axis(static_cast<std::size_t>(*from.axis));
  }
  for (const float scale : from.scale) {
    result.factor.push_back(scale_ratio(scale, to.scale[0]));
  }
  return result;
}

/// Elements that are converted at a time; they stay in the nearest cache.
constexpr std::size_t kBlock = 512;

/// Values in the type that they are rescaled in, float or int64, and back.
template <class Wide>
struct Conversions {
  void (*widen)(const std::byte* from, std::size_t first, std::size_t count, Wide* to);
  void (*narrow)(const Wide* from, std::size_t first, std::size_t count, std::byte* to);
};

template <class Wide>
Conversions<Wide> conversions(DType from, DType to) {
  Conversions<Wide> result{};
  with_storage(from, [&](auto value) {
    using In = decltype(value);
    result.widen = [](const std::byte* x, std::size_t first, std::size_t count, Wide* wide) {
      const In* narrow = reinterpret_cast<const In*>(x) + first;
      std::transform(narrow, narrow + count, wide,
                     [](In element) { return static_cast<Wide>(element); });
    };
  });
  with_storage(to, [&](auto value) {
    using Out = decltype(value);
    result.narrow = [](const Wide* wide, std::size_t first, std::size_t count, std::byte* y) {
      std::transform(wide, wide + count, reinterpret_cast<Out*>(y) + first,
                     [](Wide element) { return static_cast<Out>(element); });
    };
  });
  return result;
}

/// y = f(x, channel of x) for all elements of the shape, a block at a time in the wide type.
template <class Wide, class F>
void rescale_blocks(const Rescaling& r, const Conversions<Wide>& conversions,
                    const Buffers& buffers, F f) {
  const auto total = static_cast<std::size_t>(element_count(r.shape));
  std::size_t channels = 1;
  std::size_t run = total;  // elements of one channel, side by side
  if (r.axis) {
    channels = static_cast<std::size_t>(r.shape[*r.axis]);
    run = 1;
    for (std::size_t i = *r.axis + 1; i < r.shape.size(); ++i) {
      run *= static_cast<std::size_t>(r.shape[i]);
    }
  }
  std::array<Wide, kBlock> block;
  const auto convert = [&](std::size_t first, std::size_t count, auto channel_of) {
    for (std::size_t done = 0; done < count; done += kBlock) {
      const std::size_t size = std::min(kBlock, count - done);
      conversions.widen(buffers.inputs[0], first + done, size, block.data());
      for (std::size_t i = 0; i < size; ++i) {
        block[i] = f(block[i], channel_of(done + i));
      }
      conversions.narrow(block.data(), first + done, size, buffers.outputs[0]);
    }
  };
  if (run == 1) {  // channels are next to each other
    for (std::size_t first = 0; first < total; first += channels) {
      convert(first, channels, [](std::size_t i) { return i; });
    }
    return;
  }
  for (std::size_t first = 0, channel = 0; first < total; first += run) {
    convert(first, run, [=](std::size_t) { return channel; });
    channel = channel + 1 == channels ? 0 : channel + 1;
  }
}

/// `round` is given the product and the zero point to be added.
template <class Round>
std::unique_ptr<Kernel> in_float(const Rescaling& r, const Conversions<float>& conversions,
                                 Round round) {
  std::vector<float> factor(r.factor.size());
  std::transform(r.factor.begin(), r.factor.end(), factor.begin(), float_factor);
  const std::vector<float> zero_in(r.zero_in.begin(), r.zero_in.end());
  const auto zero_out = static_cast<float>(r.zero_out);
  const auto low = static_cast<float>(r.range.low);
  const auto high = static_cast<float>(r.range.high);
  return make_kernel([=](const Buffers& buffers) {
    rescale_blocks(r, conversions, buffers, [&](float q, std::size_t channel) {
      const float x = (q - zero_in[channel]) * factor[channel];
      return std::clamp(round(x, zero_out), low, high);
    });
  });
}

std::unique_ptr<Kernel> in_float(const Rescaling& r, const Conversions<float>& conversions,
                                 RequantizeRounding rounding) {
  switch (rounding) {
    // Where halves are not shared out evenly it matters that TVM adds the zero point first.
    case RequantizeRounding::kUpward:
      return in_float(r, conversions,
                      [](float x, float zero) { return std::floor(x + zero + 0.5F); });
    case RequantizeRounding::kToNearest:
      return in_float(r, conversions, [](float x, float zero) { return std::round(x + zero); });
    default:
      return in_float(r, conversions, [](float x, float zero) { return std::rint(x) + zero; });
  }
}

template <class Rescale>
std::unique_ptr<Kernel> in_fixed_point(const Rescaling& r,
                                       const Conversions<std::int64_t>& conversions,
                                       Rescale rescale) {
  return make_kernel([=](const Buffers& buffers) {
    rescale_blocks(r, conversions, buffers, [&](std::int64_t q, std::size_t channel) {
      const std::int64_t scaled = rescale(q - r.zero_in[channel], r.fixed[channel]);
      return std::clamp(scaled + r.zero_out, r.range.low, r.range.high);
    });
  });
}

/// Sums of 64 bits as they are, other values as int32.
std::unique_ptr<Kernel> in_fixed_point(const Rescaling& r, DType from,
                                       const Conversions<std::int64_t>& conversions,
                                       RequantizeRounding rounding) {
  const bool is_long = size_of(from) > sizeof(std::int32_t);
  const auto once = [&]<bool kAwayFromZero>(std::bool_constant<kAwayFromZero>) {
    return is_long ? in_fixed_point(r, conversions,
                                    [](std::int64_t value, FixedPointFactor factor) {
                                      return rescale_once<kAwayFromZero>(value, factor);
                                    })
                   : in_fixed_point(
                         r, conversions, [](std::int64_t value, FixedPointFactor factor) {
                           return rescale_once<kAwayFromZero>(saturated(value), factor);
                         });
  };
  switch (rounding) {
    case RequantizeRounding::kToNearest:
      return once(std::true_type{});
    case RequantizeRounding::kTfliteDouble:
      if (is_long) {
        throw Error(ErrorCode::kUnsupported, "",
                    "rounds sums of 16-bit values as 'tflite_double' does sums of int32")
            .expected("half_even, upward, to_nearest, tflite_single or shift");
      }
      return in_fixed_point(r, conversions, [](std::int64_t value, FixedPointFactor factor) {
        return rescale_twice(saturated(value), factor);
      });
    default:
      return once(std::false_type{});
  }
}

std::unique_ptr<Kernel> make_requantize(const KernelRequest& request) {
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
  return is_float ? in_float(r, conversions<float>(from->storage, to->storage), mode.rounding)
                  : in_fixed_point(r, from->storage,
                                   conversions<std::int64_t>(from->storage, to->storage),
                                   mode.rounding);
}

}  // namespace
}  // namespace tare

TARE_KERNEL(requantize) {
  using namespace tare;
  return {.ops = {"Requantize"},
          .layout = [](const KernelRequest&) { return LayoutRule::kFollow; },
          .make = make_requantize,
          .for_storage = true};
}
