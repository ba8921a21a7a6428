#include "compare/rounded_values.h"

#include "support/graphs.h"
#include "support/random/random.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

TEST(RoundedValues, CountWhatSaturatesWhatIsLostAndEachLevel) {
  const Shape shape{1, 2, 30, 30};
  const TensorType type = f32(shape);
  for (const DType storage : {DType::kInt8, DType::kUint8, DType::kInt16}) {
    const QuantParams params{.storage = storage,
                             .scale = {storage == DType::kInt16 ? 5e-5F : 0.013F},
                             .zero_point = {storage == DType::kUint8 ? 120 : -3},
                             .axis = {},
                             .narrow_range = false};
    TensorType stored = type;
    stored.dtype = storage;
    stored.quant = params;
    Tensor x = Random(3).tensor(shape);
    x.mutable_view<float>()[0] = 0;
    x.mutable_view<float>()[1] = 0.4F * params.scale[0];
    const Tensor q = quantize(x, params);
    RoundedValues values;
    values.observe({&type, x.data()}, {&stored, q.data()}, 0, 1);

    const StorageRange range = params.range();
    const auto integers = q.to_int64();
    std::vector<std::uint64_t> counts(values.counts.size());
    std::uint64_t below = 0;
    std::uint64_t above = 0;
    std::uint64_t lost = 0;
    for (std::size_t i = 0; i < integers.size(); ++i) {
      ++counts.at(static_cast<std::size_t>(integers[i] - range.low));
      const double real = static_cast<double>(x.view<float>()[i]);
      const double steps = real / static_cast<double>(params.scale[0]) + params.zero_point[0];
      below += steps < static_cast<double>(range.low) - 0.5 ? 1U : 0U;
      above += steps > static_cast<double>(range.high) + 0.5 ? 1U : 0U;
      lost += real != 0 && integers[i] == params.zero_point[0] ? 1U : 0U;
    }
    EXPECT_EQ(values.counts, counts);
    EXPECT_EQ(values.below, below);
    EXPECT_EQ(values.above, above);
    EXPECT_EQ(values.lost, lost);
    EXPECT_GT(below, 0U);
    EXPECT_GT(lost, 0U);
    EXPECT_GT(values.observed.values.zeros(), 0U);
  }
}

}  // namespace
}  // namespace tare::test
