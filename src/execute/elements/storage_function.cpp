// The functions of one value of TensorFlow Lite. Its optimized kernels read tables made in
// float32; the reference kernels for microcontrollers compute int8 in fixed point.
#include "execute/elements/storage_function.h"

#include "execute/elements/fixed_point_math.h"
#include "execute/elements/rounding.h"
#include "graph/arithmetic/node_arithmetic.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>

namespace tare {
namespace {

/// Storage of one side of the function.
struct StorageSide {
  float scale;
  std::int32_t zero;
  StorageRange range;
  DType type;

  explicit StorageSide(const QuantParams& params)
      : scale(params.scale[0]),
        zero(params.zero_point[0]),
        range(params.range()),
        type(params.storage) {}

  std::int32_t held(std::int64_t value) const {
    return static_cast<std::int32_t>(std::clamp(value, range.low, range.high));
  }
};

struct FunctionRequest {
  const Node& node;
  StorageSide from;
  StorageSide to;
  Numerics numerics;

  bool is_reference() const { return numerics == Numerics::kTfliteRef; }
  bool is_byte() const { return size_of(from.type) == 1 && size_of(to.type) == 1; }
};

/// The float function of expressed values, rounded once, halves away from zero.
template <class F>
StorageFunction tabulated(const FunctionRequest& request, F f) {
  if (!request.is_byte()) {
    return nullptr;
  }
  const float inverse = 1.0F / request.to.scale;
  return [=, from = request.from, to = request.to](std::int32_t q) {
    const float y = f(from.scale * static_cast<float>(q - from.zero));
    return to.held(rounded(y * inverse) + to.zero);
  };
}

float float_logistic(float x) {
  return 1.0F / (1.0F + static_cast<float>(std::exp(-static_cast<double>(x))));
}

/// Above this distance from zero a function of Q4.27 has reached its limits.
std::int32_t saturation_radius(FixedPointFactor to_q4) {
  return static_cast<std::int32_t>(std::floor(15.0 * 0x1p27 / std::ldexp(1, to_q4.exponent)));
}

/// int8 by a function from Q4.27 to Q0.31; results have `bits` behind the point.
StorageFunction in_fixed_point(const FunctionRequest& request, std::int32_t (*f)(std::int32_t),
                               int bits, std::int32_t zero) {
  const FixedPointFactor to_q4 =
      fixed_point_factor(static_cast<double>(request.from.scale) * 0x1p27);
  const bool expected_result =
      request.to.scale == std::ldexp(1.0F, -bits) && request.to.zero == zero;
  if (request.from.type != DType::kInt8 || request.to.type != DType::kInt8 ||
      !expected_result || to_q4.exponent < 0) {
    return nullptr;
  }
  const std::int32_t radius = saturation_radius(to_q4);
  return [=, from = request.from, to = request.to](std::int32_t q) {
    const std::int32_t x = q - from.zero;
    if (x <= -radius || x >= radius) {
      return static_cast<std::int32_t>(x < 0 ? to.range.low : to.range.high);
    }
    return to.held(shifted_right(f(rescale_twice(x, to_q4)), 31 - bits) + zero);
  };
}

/// 1 / (1 + e^-x) at x = i / 24 in 16 bits, moved against its curvature by half of the greatest
/// error that lines between neighbours would have, so that the error is that half everywhere.
/// The last entry is the end.
const std::array<std::uint32_t, 256>& logistic_table() {
  static const auto table = [] {
    constexpr double kStep = 1.0 / 24;
    std::array<std::uint32_t, 256> values;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double y = 1 / (1 + std::exp(-kStep * static_cast<double>(i)));
      const double second_derivative = y * (1 - y) * (1 - 2 * y);
      values[i] = static_cast<std::uint32_t>(
          std::lround(65536 * (y - kStep * kStep / 16 * second_derivative)));
    }
    values.back() = 65535;
    return values;
  }();
  return table;
}

/// How int16 gets to steps of 1 / (3 * 4096), at which the table is read: by a factor below
/// 2^15 and a shift.
struct TableInput {
  std::int32_t factor = 0;
  int right = 0;

  explicit TableInput(float scale) {
    double exact = static_cast<double>(scale) * 4096 * 3;
    for (; exact <= 32767.0 / 2 && right <= 30; exact *= 2) {
      ++right;
    }
    factor = static_cast<std::int32_t>(exact);
  }

  std::int32_t operator()(std::int32_t x) const {
    const std::int64_t half = right > 0 ? std::int64_t{1} << (right - 1) : 0;
    return static_cast<std::int32_t>((std::int64_t{x} * factor + half) >> right);
  }
};

/// The table at |x| / 2^bits between its entries, `bits` further behind the point; `beyond` it
/// ends.
std::uint32_t interpolated(std::uint32_t x, int bits, std::uint32_t beyond) {
  const auto& table = logistic_table();
  const std::uint32_t index = x >> bits;
  if (index >= table.size() - 1) {
    return beyond;
  }
  const std::uint32_t rest = x & ((1U << bits) - 1);
  return (table[index] << bits) + rest * (table[index + 1] - table[index]);
}

bool is_unit_int16(const FunctionRequest& request) {
  return request.is_reference() && request.from.type == DType::kInt16 &&
         request.to.type == DType::kInt16 && request.from.zero == 0 && request.to.zero == 0 &&
         request.from.scale < 1 && request.to.scale == 0x1p-15F;
}

StorageFunction logistic_int16(const FunctionRequest& request) {
  const TableInput input(request.from.scale);
  return [=](std::int32_t q) {
    const std::int32_t x = input(q);
    const auto y = static_cast<std::int64_t>(
        interpolated(static_cast<std::uint32_t>(std::abs(x)), 9, 0x7FFFU << 10));
    const std::int64_t rounded =
        x >= 0 ? y + (1 << 9) : (std::int64_t{1} << 25) - y + (1 << 9) - 1;
    return static_cast<std::int32_t>(rounded >> 10);
  };
}

/// 2 * logistic(2 * x) - 1.
StorageFunction tanh_int16(const FunctionRequest& request) {
  const TableInput input(request.from.scale);
  return [=](std::int32_t q) {
    const std::int32_t x = input(q);
    const auto y = static_cast<std::int64_t>(
        interpolated(static_cast<std::uint32_t>(std::abs(x)), 8, 0xFFFFU << 8));
    const std::int64_t rounded =
        x >= 0 ? y - (1 << 23) + (1 << 7) : -y + (1 << 23) + (1 << 7) - 1;
    return static_cast<std::int32_t>(rounded >> 8);
  };
}

StorageFunction logistic_function(const FunctionRequest& request) {
  if (is_unit_int16(request)) {
    return logistic_int16(request);
  }
  if (request.is_reference() && request.from.type == DType::kInt8) {
    return in_fixed_point(request, logistic_q4, 8, -128);
  }
  return tabulated(request, float_logistic);
}

StorageFunction tanh_function(const FunctionRequest& request) {
  if (is_unit_int16(request)) {
    return tanh_int16(request);
  }
  if (request.is_reference() && request.from.type == DType::kInt8) {
    return in_fixed_point(request, tanh_q4, 7, 0);
  }
  return tabulated(request, [](float x) { return std::tanh(x); });
}

StorageFunction elu_function(const FunctionRequest& request) {
  if (request.node.attributes.real("alpha", 1) != 1) {
    return nullptr;
  }
  return tabulated(request, [](float x) { return x < 0 ? std::expm1(x) : x; });
}

/// Products in 8 bits behind the point, as XNNPACK makes them. It takes no ratio as large as
/// the one where this saturates, as all bytes but 0 then do.
std::int32_t eighth_bits(float ratio) {
  return static_cast<std::int32_t>(std::lrint(std::min(256.0F * ratio, 0x1p22F)));
}

StorageFunction leaky_relu_function(const FunctionRequest& request) {
  const float alpha = request.node.attributes.real("alpha", 0.01F);
  const StorageSide from = request.from;
  const StorageSide to = request.to;
  const float ratio = finite_factor(from.scale / to.scale);
  const float ratio_below = finite_factor(from.scale * alpha / to.scale);
  if (!(alpha >= 0) || !request.is_byte()) {
    return nullptr;
  }
  if (request.numerics == Numerics::kTfliteXnn) {
    const std::int32_t above = eighth_bits(ratio);
    const std::int32_t below = eighth_bits(alpha * ratio);
    return [=](std::int32_t q) {
      const std::int32_t x = q - from.zero;
      return to.held((x * (x < 0 ? below : above) + (to.zero * 256) + 128) >> 8);
    };
  }
  const FixedPointFactor above = fixed_point_factor(static_cast<double>(ratio));
  const FixedPointFactor below = fixed_point_factor(static_cast<double>(ratio_below));
  return [=](std::int32_t q) {
    const std::int32_t x = q - from.zero;
    return to.held(std::int64_t{rescale_twice(x, x < 0 ? below : above)} + to.zero);
  };
}

std::int32_t held16(std::int64_t value) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(value, -32768, 32767));
}

/// The high half of 2 * a * b in 16 bits, halves up.
std::int32_t doubled_high_product16(std::int32_t a, std::int32_t b) {
  const std::int32_t product = a * b;
  return held16((product + (product >= 0 ? 1 << 14 : 1 - (1 << 14))) / (1 << 15));
}

std::int32_t in_16_bits(std::int32_t significand) {
  return held16((std::int64_t{significand} + (1 << 15)) >> 16);
}

/// x * min(max(x + 3, 0), 6) / 6, in 16 bits: 7 of them behind the point of x.
StorageFunction hard_swish_function(const FunctionRequest& request) {
  if (!request.is_byte()) {
    return nullptr;
  }
  const StorageSide from = request.from;
  const StorageSide to = request.to;
  const float fine = 0x1p-7F * from.scale;
  const FixedPointFactor result = fixed_point_factor(static_cast<double>(fine / to.scale));
  const FixedPointFactor gate =
      fixed_point_factor(static_cast<double>(fine / (3.0F / 32768.0F)));
  const std::int32_t result16 = in_16_bits(result.significand);
  const std::int32_t gate16 = in_16_bits(gate.significand);
  if (result.exponent > 0 || result.exponent < -31 || gate.exponent < -31) {
    return nullptr;
  }
  return [=](std::int32_t q) {
    const std::int32_t x = (q - from.zero) * 128;
    // Saturates at 1 before it is halved to [0, 1].
    std::int32_t share = x;
    if (gate.exponent > 0) {
      share = held16(std::int64_t{share} << std::min(gate.exponent - 1, 31));
    }
    share = doubled_high_product16(share, gate16);
    if (gate.exponent > 0) {
      share = held16(std::int64_t{share} * 2);
    } else {
      share = shifted_right(share, -gate.exponent);
    }
    share = (share + (1 << 15)) >> 1;
    const std::int32_t y = share * doubled_high_product16(x, result16) / (1 << 15);
    return to.held(std::int64_t{shifted_right(y, -result.exponent)} + to.zero);
  };
}

struct FunctionEntry {
  std::string_view op;
  StorageFunction (*make)(const FunctionRequest&);
};

constexpr std::array kFunctions{
    FunctionEntry{"Elu", elu_function},
    FunctionEntry{"HardSwish", hard_swish_function},
    FunctionEntry{"LeakyRelu", leaky_relu_function},
    FunctionEntry{"Sigmoid", logistic_function},
    FunctionEntry{"Tanh", tanh_function},
};

}  // namespace

StorageFunction tflite_function(const Node& node, const QuantParams& from,
                                const QuantParams& to) {
  const auto* found =
      std::find_if(kFunctions.begin(), kFunctions.end(),
                   [&](const FunctionEntry& entry) { return entry.op == node.op; });
  return found == kFunctions.end() ? nullptr
                                   : found->make({node, StorageSide(from), StorageSide(to),
                                                  numerics(node.attributes)});
}

}  // namespace tare
