// Factors of a Requantize as engines hold them: a ratio of scales as a significand of 31 bits
// and an exponent (Jacob et al., "Quantization and Training of Neural Networks for Efficient
// Integer-Arithmetic-Only Inference", 2018, section 2.2; QuantizeMultiplier of TensorFlow
// Lite). Multiplying by one is a product in int64 and a shift that rounds; rescale.h has the
// roundings of gemmlowp, TensorFlow Lite and TVM.

#include "tare/error.h"
#include "tare/node.h"

#include "base/check.h"
#include "graph/arithmetic/node_arithmetic.h"
#include "graph/arithmetic/rescale.h"

#include <array>
#include <cmath>
#include <limits>

namespace tare {
namespace {

using enum RequantizeRounding;
using enum RequantizeArithmetic;

struct Word {
  RequantizeRounding rounding;
  std::string_view text;
  bool in_float;
  bool in_fixed_point;
};

constexpr std::array kWords{
    Word{kHalfEven, "half_even", true, false},
    Word{kUpward, "upward", true, true},
    Word{kToNearest, "to_nearest", true, true},
    Word{kTfliteDouble, "tflite_double", false, true},
    Word{kTfliteSingle, "tflite_single", false, true},
    Word{kShift, "shift", false, true},
};

/// Of a quotient of doubles.
constexpr std::int64_t kMostExponent = 2200;

std::string_view text_of(RequantizeArithmetic arithmetic) {
  return arithmetic == kFloat ? "float" : "fixed_point";
}

const Word& word_of(RequantizeRounding rounding) {
  return *std::find_if(kWords.begin(), kWords.end(),
                       [&](const Word& w) { return w.rounding == rounding; });
}

}  // namespace

RequantizeMode requantize_mode(RequantizeRounding rounding,
                               std::optional<RequantizeArithmetic> arithmetic) {
  const bool fixed_point = word_of(rounding).in_fixed_point;
  return {rounding, arithmetic.value_or(fixed_point ? kFixedPoint : kFloat)};
}

bool is_defined(const RequantizeMode& mode) {
  const Word& word = word_of(mode.rounding);
  return mode.arithmetic == kFloat ? word.in_float : word.in_fixed_point;
}

RequantizeMode requantize_mode(const Attributes& attributes) {
  const std::string rounding = attributes.text("rounding", "half_even");
  const auto* word = std::find_if(kWords.begin(), kWords.end(),
                                  [&](const Word& w) { return w.text == rounding; });
  if (word == kWords.end()) {
    throw Error(ErrorCode::kInvalidModel, "", "rounding is '" + rounding + "'")
        .expected("half_even, upward, to_nearest, tflite_double, tflite_single or shift");
  }
  const RequantizeMode usual = requantize_mode(word->rounding);
  const std::string arithmetic = attributes.text("arithmetic", text_of(usual.arithmetic));
  for (const RequantizeMode mode : {usual, RequantizeMode{word->rounding, kFloat}}) {
    if (is_defined(mode) && arithmetic == text_of(mode.arithmetic)) {
      return mode;
    }
  }
  throw Error(ErrorCode::kInvalidModel, "",
              "arithmetic is '" + arithmetic + "' where rounding is '" + rounding + "'")
      .expected(word->in_float ? word->in_fixed_point ? "float or fixed_point" : "float"
                               : "fixed_point");
}

Attributes to_attributes(const RequantizeMode& mode) {
  const Word& word = word_of(mode.rounding);
  Attributes result{{"rounding", std::string(word.text)}};
  if (word.in_float && word.in_fixed_point) {
    result.set("arithmetic", std::string(text_of(mode.arithmetic)));
  }
  return result;
}

FixedPointFactor fixed_point_factor(double factor) {
  check(factor >= 0, "a factor below 0");
  if (factor == 0) {
    return {};
  }
  factor = std::min(factor, std::numeric_limits<double>::max());
  FixedPointFactor result;
  constexpr double kOne = 2147483648.0;  // 2^31
  auto significand =
      static_cast<std::int64_t>(std::round(std::frexp(factor, &result.exponent) * kOne));
  if (significand == static_cast<std::int64_t>(kOne)) {
    significand /= 2;
    ++result.exponent;
  }
  result.significand = static_cast<std::int32_t>(significand);
  return result;
}

std::vector<FixedPointFactor> fixed_point_factors(const Attributes& attributes) {
  const auto significands = attributes.integers("significand", std::vector<std::int64_t>());
  const auto exponents = attributes.integers("exponent", std::vector<std::int64_t>());
  std::vector<FixedPointFactor> factors;
  bool valid = significands.size() == exponents.size();
  for (std::size_t i = 0; valid && i < significands.size(); ++i) {
    const std::int64_t significand = significands[i];
    valid = std::abs(exponents[i]) <= kMostExponent &&
            (significand == 0 ||
             (significand >= std::int64_t{1} << 30 && significand < std::int64_t{1} << 31));
    factors.push_back({static_cast<std::int32_t>(significand), static_cast<int>(exponents[i])});
  }
  if (!valid) {
    throw Error(ErrorCode::kInvalidModel, "", "its significands and exponents are no factors")
        .expected("significands within [2^30,2^31), and as many exponents");
  }
  return factors;
}

void set_fixed_point_factors(Attributes& attributes,
                             const std::vector<FixedPointFactor>& factors) {
  std::vector<std::int64_t> significands;
  std::vector<std::int64_t> exponents;
  for (const FixedPointFactor& factor : factors) {
    significands.push_back(factor.significand);
    exponents.push_back(factor.exponent);
  }
  attributes.set("significand", significands);
  attributes.set("exponent", exponents);
}

std::int32_t rescale(std::int32_t value, FixedPointFactor factor, RequantizeRounding rounding) {
  check(rounding != kHalfEven, "halves go to even in float only");
  if (rounding == kTfliteDouble) {
    return rescale_twice(value, factor);
  }
  return rounding == kToNearest ? rescale_once<true>(value, factor)
                                : rescale_once<false>(value, factor);
}

}  // namespace tare
