#include "compare/deviation.h"

#include "support/graphs.h"
#include "support/params.h"
#include "support/random/random.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

const QuantParams kParams = u8(0.01F, 110);

/// The definitions, in long double, one element after the other.
struct DefinedSums {
  long double xx = 0, yy = 0, xy = 0, dd = 0, largest = 0;
  std::size_t count = 0;

  void add(std::span<const float> x, std::span<const float> y) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const long double a = x[i];
      const long double b = y[i];
      xx += a * a;
      yy += b * b;
      xy += a * b;
      dd += (a - b) * (a - b);
      largest = std::max(largest, std::abs(a - b));
      ++count;
    }
  }
};

void expect_defined(const Deviation& found, const DefinedSums& wanted) {
  // Sums of doubles in blocks: a millionth of what is asked for.
  constexpr double kRelative = 1e-12;
  const auto expect = [&](std::optional<double> value, long double exact) {
    ASSERT_TRUE(value);
    EXPECT_NEAR(*value, static_cast<double>(exact),
                kRelative * std::abs(static_cast<double>(exact)));
  };
  expect(found.sqnr, 10 * std::log10(wanted.xx / wanted.dd));
  expect(found.cosine, wanted.xy / std::sqrt(wanted.xx * wanted.yy));
  expect(found.mse, wanted.dd / static_cast<long double>(wanted.count));
  expect(found.relative_l2, std::sqrt(wanted.dd / wanted.xx));
  ASSERT_TRUE(found.largest);
  EXPECT_EQ(found.largest->value, static_cast<double>(wanted.largest));
}

TEST(DeviationSums, AreTheirDefinitionsForRealAndForStorageValues) {
  const Shape shape{1, 5, 37, 23};
  DeviationSums real_sums;
  DeviationSums storage_sums;
  DefinedSums real;
  DefinedSums storage;
  for (unsigned sample = 0; sample < 7; ++sample) {
    const Tensor x = Random(sample).tensor(shape);
    const Tensor y = Random(sample + 100).tensor(shape);
    const Tensor q = quantize(x, kParams);
    const TensorType type = f32(shape);
    TensorType stored = type;
    stored.dtype = DType::kUint8;
    stored.quant = kParams;
    real_sums.observe({&type, x.data()}, {&type, y.data()}, sample, 1);
    real.add(x.view<float>(), y.view<float>());
    storage_sums.observe({&type, x.data()}, {&stored, q.data()}, sample, 1);
    storage.add(x.view<float>(), dequantize(q, kParams).view<float>());
  }
  expect_defined(real_sums.deviation(), real);
  expect_defined(storage_sums.deviation(), storage);
}

TEST(DeviationSums, DoNotDependOnOrderOrGrouping) {
  const Shape shape{1, 1000};
  const TensorType type = f32(shape);
  const auto observe = [&](unsigned sample, DeviationSums& sums) {
    const Tensor x = Random(sample).tensor(shape);
    const Tensor y = Random(sample / 2).tensor(shape);  // equal largest errors do occur
    sums.observe({&type, x.data()}, {&type, y.data()}, sample, 1);
  };
  DeviationSums forwards;
  DeviationSums even;
  DeviationSums odd;
  for (unsigned sample = 0; sample < 40; ++sample) {
    observe(sample, forwards);
  }
  for (unsigned sample = 40; sample-- > 0;) {
    observe(sample, sample % 2 == 0 ? even : odd);
  }
  odd.merge(even);
  const Deviation a = forwards.deviation();
  const Deviation b = odd.deviation();
  EXPECT_EQ(a.sqnr, b.sqnr);
  EXPECT_EQ(a.cosine, b.cosine);
  EXPECT_EQ(a.mse, b.mse);
  EXPECT_EQ(a.relative_l2, b.relative_l2);
  EXPECT_EQ(a.largest->value, b.largest->value);
  EXPECT_EQ(a.largest->sample, b.largest->sample);
  EXPECT_EQ(a.largest->index, b.largest->index);
}

TEST(DeviationSums, NameTheFirstElementThatIsOffByMostInEveryMemoryOrder) {
  const Shape shape{1, 3, 2, 2};
  const TensorType type = f32(shape);
  const auto zeros = Tensor(DType::kFloat32, shape);
  // [channel][position] in rows, and the same elements with channels last.
  std::vector<float> rows(12);
  rows[1 * 4 + 3] = -7;
  rows[2 * 4 + 0] = 7;
  std::vector<float> last(12);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    last[i % 4 * 3 + i / 4] = rows[i];
  }
  const auto view = [&](const std::vector<float>& values, bool channels_last) {
    return TensorView{&type, reinterpret_cast<const std::byte*>(values.data()), channels_last};
  };
  for (const bool real_last : {false, true}) {
    for (const bool other_last : {false, true}) {
      DeviationSums sums;
      sums.observe({&type, zeros.data(), real_last}, view(other_last ? last : rows, other_last),
                   5, 1);
      const auto largest = sums.deviation().largest;
      ASSERT_TRUE(largest);
      EXPECT_EQ(largest->index, (Shape{0, 1, 1, 1}));
      EXPECT_EQ(largest->quantized, -7);
      EXPECT_EQ(largest->real, 0);
      EXPECT_EQ(largest->sample, 5U);
    }
  }
}

TEST(DeviationSums, NameTheFirstOfEqualErrorsInALargeTensor) {
  constexpr std::int64_t kSide = 100;
  const TensorType type = f32({1, 4, kSide, kSide});
  const Tensor zeros(DType::kFloat32, type.shape);
  // In memory the channels come last, so the element of channel 3 comes before that of 0.
  std::vector<float> last(4 * kSide * kSide);
  last[(10 * kSide + 7) * 4 + 3] = 2;
  last[(60 * kSide + 5) * 4 + 0] = -2;
  last[(61 * kSide + 5) * 4 + 0] = 2;
  last[5] = 1;
  DeviationSums sums;
  sums.observe({&type, zeros.data(), true},
               {&type, reinterpret_cast<const std::byte*>(last.data()), true}, 0, 1);
  EXPECT_EQ(sums.deviation().largest->index, (Shape{0, 0, 60, 5}));
}

TEST(DeviationSums, TellSamplesOfARunApart) {
  const Shape shape{4, 2};
  const TensorType type = f32(shape);
  const auto x = Tensor::of<float>(shape, std::vector<float>{0, 0, 0, 0, 0, 0, 0, 0});
  const auto y = Tensor::of<float>(shape, std::vector<float>{1, 1, 1, 1, 1, 9, 1, 1});
  DeviationSums sums;
  sums.observe({&type, x.data()}, {&type, y.data()}, 8, 4);
  EXPECT_EQ(sums.deviation().largest->sample, 10U);
}

TEST(DeviationSums, SayThatEqualValuesAreExact) {
  const Shape shape{2, 3};
  const TensorType type = f32(shape);
  const Tensor x = Random(1).tensor(shape);
  DeviationSums sums;
  sums.observe({&type, x.data()}, {&type, x.data()}, 0, 1);
  const Deviation deviation = sums.deviation();
  EXPECT_TRUE(deviation.exact);
  EXPECT_FALSE(deviation.sqnr);
  EXPECT_EQ(deviation.mse, 0);
  EXPECT_EQ(deviation.cosine, 1);
}

TEST(DeviationSums, LeaveUndefinedWhatIsNotFinite) {
  const Shape shape{1, 2};
  const TensorType type = f32(shape);
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const auto x = Tensor::of<float>(shape, std::vector<float>{1, 2});
    const auto y = Tensor::of<float>(shape, std::vector<float>{1, bad});
    DeviationSums sums;
    sums.observe({&type, x.data()}, {&type, y.data()}, 0, 1);
    const Deviation deviation = sums.deviation();
    EXPECT_FALSE(deviation.exact);
    EXPECT_FALSE(deviation.sqnr);
    EXPECT_FALSE(deviation.mse);
  }
}

TEST(Proportion, HasTheIntervalOfWilson) {
  // Newcombe, "Two-sided confidence intervals for the single proportion", 1998, table I.
  const Range interval = Proportion{81, 263}.interval();
  EXPECT_NEAR(interval.low, 0.2553, 5e-5);
  EXPECT_NEAR(interval.high, 0.3662, 5e-5);
  const Range few = Proportion{0, 20}.interval();
  EXPECT_EQ(few.low, 0);
  EXPECT_NEAR(few.high, 0.1611, 5e-5);
}

}  // namespace
}  // namespace tare::test
