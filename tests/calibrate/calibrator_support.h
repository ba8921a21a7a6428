#pragma once

#include "tare/arithmetic.h"
#include "tare/calibrator.h"
#include "tare/quantize.h"
#include "tare/tensor.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace tare::test {

inline std::unique_ptr<const Calibrator> make_calibrator(
    const std::string& name, const std::map<std::string, double>& options = {}) {
  for (const CalibratorInfo& info : Toolkit::builtin().calibrators) {
    if (info.name == name) {
      return info.make(CalibratorOptions(options));
    }
  }
  throw std::runtime_error("no calibrator " + name);
}

/// The statistics of one sample.
inline TensorStatistics statistics_of(const std::vector<float>& values) {
  TensorStatistics result;
  result.observe(values);
  return result;
}

inline constexpr QuantSpec kAsymmetric{.storage = DType::kUint8};
inline constexpr QuantSpec kSymmetric{.storage = DType::kInt8, .symmetric = true};

/// All kinds of 8-bit storage.
inline std::vector<QuantSpec> specs() {
  std::vector<QuantSpec> result;
  for (const DType storage : {DType::kInt8, DType::kUint8}) {
    for (const bool symmetric : {false, true}) {
      for (const bool narrow : {false, true}) {
        for (const bool power_of_two : {false, true}) {
          result.push_back({.storage = storage,
                            .symmetric = symmetric,
                            .narrow_range = narrow,
                            .power_of_two = power_of_two});
        }
      }
    }
  }
  return result;
}

inline std::vector<float> normal_values(std::size_t count, float mean = 0.5F,
                                        float deviation = 2) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(mean, deviation);
  std::vector<float> values(count);
  std::generate(values.begin(), values.end(), [&] { return normal(random); });
  return values;
}

/// Values whose shares are exactly those of a Laplace distribution with mean distance 1.
inline std::vector<float> laplace_values(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
    values[i] =
        static_cast<float>(share < 0.5 ? std::log(2 * share) : -std::log(2 * (1 - share)));
  }
  return values;
}

inline std::vector<float> even_values(std::size_t count, double low, double high) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(low + (high - low) * static_cast<double>(i) /
                                             static_cast<double>(count - 1));
  }
  return values;
}

inline std::vector<float> with(std::vector<float> values, const std::vector<float>& more) {
  values.insert(values.end(), more.begin(), more.end());
  return values;
}

inline std::vector<float> without_negative(std::vector<float> values) {
  for (float& x : values) {
    x = std::max(x, 0.0F);
  }
  return values;
}

struct NamedValues {
  std::string name;
  std::vector<float> values;
};

/// What quantizers stumble over. The same numbers on every machine.
inline std::vector<NamedValues> tensors() {
  const std::vector<float> laplace = laplace_values(10000);
  return {{"zeros", {0, 0, 0}},
          {"single", {-2}},
          {"constant", std::vector<float>(100, 3.0F)},
          {"pair", {-0.1F, 0.7F}},
          {"even", even_values(10001, -1, 3)},
          {"laplace", laplace},
          {"rectified", without_negative(laplace)},
          {"far_from_0", even_values(1001, 10, 11)},
          {"one_outlier", with(laplace, {1e4F})},
          {"no_numbers", with(laplace, {std::nanf(""), HUGE_VALF, -HUGE_VALF})},
          {"tiny", {-1e-30F, 2e-30F, 3e-30F}},
          {"huge", {-1e30F, 2e30F, 3e30F}},
          {"both", {1e-30F, -1e30F, 1e30F}}};
}

}  // namespace tare::test
