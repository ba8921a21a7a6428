// Whatever is observed, in whatever order and parts, merges to the same statistics.
#include "support/random/any_samples.h"

#include <cmath>

namespace tare::test {
namespace {

using Samples = std::vector<std::vector<float>>;

/// Both ways round.
template <class T, class Merge>
void expect_unchanged_by(const T& nothing, const T& whole, Merge merge) {
  T left = whole;
  merge(nothing, left);
  RC_ASSERT(left == whole);
  T right = nothing;
  merge(whole, right);
  RC_ASSERT(right == whole);
}

/// Some of them finer than the unit of an ExactSum; the sum of a hundred fits.
rc::Gen<std::vector<double>> any_doubles() {
  const auto any = rc::gen::apply(
      [](std::int64_t mantissa, int exponent) {
        return std::ldexp(static_cast<double>(mantissa), exponent);
      },
      rc::gen::arbitrary<std::int64_t>(), rc::gen::inRange(-300, 200));
  return rc::gen::container<std::vector<double>>(rc::gen::resize(rc::kNominalSize, any));
}

const auto kAdd = [](ExactSum& sum, double x) { sum.add(x); };
const auto kAddSum = [](const ExactSum& from, ExactSum& into) { into.add(from); };

RC_GTEST_PROP(MergedExactSums, OfAnySplitInAnyOrderAreEqual, ()) {
  const auto doubles = *any_doubles();
  ExactSum whole;
  for (const double x : doubles) {
    whole.add(x);
  }
  RC_ASSERT(in_parts(doubles, ExactSum(), kAdd, kAddSum) == whole);
  expect_unchanged_by(ExactSum(), whole, kAddSum);
}

const auto kObserve = [](TensorStatistics& statistics, const auto& sample) {
  statistics.observe(sample);
};
const auto kMerge = [](const auto& from, auto& into) { into.merge(from); };

RC_GTEST_PROP(MergedSummaries, OfAnySplitInAnyOrderAreEqual, ()) {
  const Samples samples = *any_samples();
  TensorStatistics whole;
  for (const auto& sample : samples) {
    whole.observe(sample);
  }
  const TensorStatistics merged = in_parts(samples, TensorStatistics(), kObserve, kMerge);
  RC_ASSERT(merged == whole);
  // -0 == 0, but files with them differ.
  RC_ASSERT(std::signbit(merged.low()) == std::signbit(whole.low()));
  RC_ASSERT(std::signbit(merged.high()) == std::signbit(whole.high()));
  expect_unchanged_by(TensorStatistics(), whole, kMerge);
}

RC_GTEST_PROP(MergedChannelSummaries, OfAnySplitInAnyOrderAreEqual, ()) {
  const Samples samples = *any_samples();
  const auto channels = *rc::gen::inRange<std::size_t>(1, 5);
  const auto observe = [channels](ChannelStatistics& statistics,
                                  const std::vector<float>& sample) {
    const std::size_t each = sample.size() / channels;
    const TensorType type{
        .dtype = DType::kFloat32,
        .shape = {1, static_cast<std::int64_t>(channels), static_cast<std::int64_t>(each)},
        .quant = {},
        .point = {}};
    const std::span<const float> rows(sample.data(), channels * each);
    statistics.observe({&type, std::as_bytes(rows).data(), false});
  };
  ChannelStatistics whole;
  for (const auto& sample : samples) {
    observe(whole, sample);
  }
  const ChannelStatistics merged = in_parts(samples, ChannelStatistics(), observe, kMerge);
  RC_ASSERT(merged == whole);
  for (std::size_t c = 0; c < merged.channels(); ++c) {
    RC_ASSERT(std::signbit(merged.lows()[c]) == std::signbit(whole.lows()[c]));
    RC_ASSERT(std::signbit(merged.highs()[c]) == std::signbit(whole.highs()[c]));
  }
  expect_unchanged_by(ChannelStatistics(), whole, kMerge);
}

RC_GTEST_PROP(MergedStatistics, OfAnySplitInAnyOrderAreEqual, ()) {
  const Samples samples = *any_samples();
  Statistics whole = statistics_of_nothing();
  for (const auto& sample : samples) {
    merge(collected(sample), whole);
  }
  RC_ASSERT(statistics_in_parts(samples) == whole);
  expect_unchanged_by(statistics_of_nothing(), whole,
                      [](const Statistics& from, Statistics& into) { merge(from, into); });
}

}  // namespace
}  // namespace tare::test
