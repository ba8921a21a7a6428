#pragma once

#include "tare/execute.h"
#include "tare/statistics.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace tare::test {

/// Any float: both zeros, subnormal, huge and infinite ones, NaN.
inline rc::Gen<float> any_float() {
  using Limits = std::numeric_limits<float>;
  const auto any = rc::gen::weightedOneOf<float>(
      {{3, rc::gen::map(rc::gen::inRange(-80, 80),
                        [](int eighths) { return static_cast<float>(eighths) / 8; })},
       {3, rc::gen::map(rc::gen::arbitrary<std::uint32_t>(),
                        [](std::uint32_t bits) { return std::bit_cast<float>(bits); })},
       {1, rc::gen::element(0.0F, -0.0F, Limits::denorm_min(), -Limits::denorm_min(),
                            Limits::min(), Limits::max(), Limits::lowest(), Limits::infinity(),
                            -Limits::infinity(), Limits::quiet_NaN())}});
  // Integers become small where lists are short, and their bits are then no float of note.
  return rc::gen::resize(rc::kNominalSize, any);
}

/// Up to 20 of them, with up to 20 floats each; in half of the lists negative ones became -0.
inline rc::Gen<std::vector<std::vector<float>>> any_samples() {
  const auto rectified = [](float x) { return x < 0 ? -0.0F : x; };
  const auto samples_of = [](rc::Gen<float> value) {
    return rc::gen::container<std::vector<std::vector<float>>>(
        rc::gen::container<std::vector<float>>(std::move(value)));
  };
  return rc::gen::resize(20, rc::gen::oneOf(samples_of(any_float()),
                                            samples_of(rc::gen::map(any_float(), rectified))));
}

/// What the samples give when they come in another order, are shared out among parts (some of
/// which may get none), and the parts are merged two at a time, any two.
template <class T, class Sample, class Observe, class Merge>
T in_parts(std::vector<Sample> samples, const T& nothing, Observe observe, Merge merge) {
  std::mt19937 random(*rc::gen::arbitrary<unsigned>().as("order and grouping"));
  std::shuffle(samples.begin(), samples.end(), random);
  std::vector<T> parts(1 + random() % (samples.size() + 1), nothing);
  for (const Sample& sample : samples) {
    observe(parts[random() % parts.size()], sample);
  }
  while (parts.size() > 1) {
    std::swap(parts.back(), parts[random() % parts.size()]);
    const T last = std::move(parts.back());
    parts.pop_back();
    merge(last, parts[random() % parts.size()]);
  }
  return parts[0];
}

/// A stand-in for the statistics of one sample: two values, one of them with two channels, one
/// with a part that is visible.
inline Statistics collected(const std::vector<float>& sample) {
  Statistics result;
  result.model = 7;
  result.data = sample.size() * 0x9E3779B97F4A7C15U;  // sums of these overflow
  result.samples = 1;
  result.inputs = {{"image", {2, 3}}};
  result.values["flat"].observe(sample);
  const TensorType type{.dtype = DType::kFloat32,
                        .shape = {1, 2, static_cast<std::int64_t>(sample.size() / 2)},
                        .quant = {},
                        .point = {}};
  const std::span<const float> whole_rows(sample.data(), sample.size() / 2 * 2);
  result.values["rows"].observe(whole_rows);
  result.channels["rows"].observe({&type, std::as_bytes(whole_rows).data(), false});
  std::vector<float> above(sample);
  std::transform(above.begin(), above.end(), above.begin(),
                 [](float x) { return std::max(x, -1.0F); });
  result.visible["flat"].observe(above);
  return result;
}

/// The same for no sample.
inline Statistics statistics_of_nothing() {
  Statistics result;
  result.model = 7;
  return result;
}

/// The same for any number of them, however they come.
inline Statistics statistics_in_parts(const std::vector<std::vector<float>>& samples) {
  const auto merge_into = [](const Statistics& from, Statistics& into) { merge(from, into); };
  return in_parts(
      samples, statistics_of_nothing(),
      [](Statistics& part, const auto& sample) { merge(collected(sample), part); }, merge_into);
}

}  // namespace tare::test
