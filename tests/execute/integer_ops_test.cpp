#include "tare/execute.h"

#include "support/graphs.h"
#include "support/index.h"
#include "support/node_run.h"
#include "support/random/random_convolution.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

TEST(Reduce, LogarithmsAndRootsOfIntegersSaturate) {
  // log(0) is -infinity; the sum of squares wraps to a negative number, which has no root.
  const auto reduced = [](const char* op, std::int64_t x) {
    const NodeInput input{Tensor::of<std::int64_t>({1}, {x})};
    const TensorType result = typed(DType::kInt64, {1});
    return run_node(make_node(op), {input}, {result})[0].view<std::int64_t>()[0];
  };
  EXPECT_EQ(reduced("ReduceLogSum", 0), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(reduced("ReduceLogSum", 1), 0);
  EXPECT_EQ(reduced("ReduceL2", 4'000'000'000), 0);
  EXPECT_EQ(reduced("ReduceL2", 5), 5);
}

template <class Q>
Tensor random_storage(Shape shape, Random& random) {
  Tensor tensor(DTypeOf<Q>::kValue, std::move(shape));
  for (Q& value : tensor.mutable_view<Q>()) {
    value = static_cast<Q>(
        random.integer(std::numeric_limits<Q>::min(), std::numeric_limits<Q>::max()));
  }
  return tensor;
}

/// One element of the convolution by its definition; what is padded is the zero point.
std::int64_t convolved(const Convolution& c, const std::vector<std::int64_t>& x,
                       const std::vector<std::int64_t>& weight, const Shape& at) {
  std::int64_t sum = 0;
  const std::int64_t group = at[1] / (c.weight[0] / c.groups);
  Shape taps = c.weight;
  taps[0] = 1;
  for_each_index(taps, [&](Shape tap) {
    Shape from{at[0], group * c.weight[1] + tap[1]};
    bool inside = true;
    for (std::size_t axis = 0; axis + 2 < at.size(); ++axis) {
      const std::int64_t i =
          at[axis + 2] * c.strides[axis] + tap[axis + 2] * c.dilations[axis] - c.pads[axis];
      inside = inside && i >= 0 && i < c.x[axis + 2];
      from.push_back(i);
    }
    tap[0] = at[1];
    sum += inside ? x[offset(c.x, from)] * weight[offset(c.weight, tap)] : 0;
  });
  return sum;
}

std::vector<std::int64_t> centered(const Tensor& values, const std::vector<std::int64_t>& zeros,
                                   std::size_t block) {
  auto result = values.to_int64();
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] -= zeros[i / block % zeros.size()];
  }
  return result;
}

TEST(ConvInteger, IsTheExactSumOfProducts) {
  Random random(17);
  for (int round = 0; round < 100; ++round) {
    const Convolution c = random_convolution(random);
    const Tensor x = random_storage<std::uint8_t>(c.x, random);
    const Tensor weight = random_storage<std::int8_t>(c.weight, random);
    const Tensor x_zero = random_storage<std::uint8_t>({}, random);
    const Tensor w_zero =
        random_storage<std::int8_t>({random.coin() ? c.weight[0] : 1}, random);
    const Tensor y =
        run_node(make_node("ConvInteger", c.attributes()), {{x}, {weight}, {x_zero}, {w_zero}},
                 {typed(DType::kInt32, c.y)})[0];
    const auto xs = centered(x, x_zero.to_int64(), 1);
    const auto ws = centered(weight, w_zero.to_int64(),
                             static_cast<std::size_t>(weight.size() / c.weight[0]));
    for_each_index(c.y, [&](const Shape& at) {
      ASSERT_EQ(y.view<std::int32_t>()[offset(c.y, at)], convolved(c, xs, ws, at));
    });
  }
}

TEST(MatMulInteger, TakesZeroPointsPerRowAndColumn) {
  Random random(23);
  for (int round = 0; round < 50; ++round) {
    const std::int64_t batch = random.integer(1, 3);
    const std::int64_t rows = random.integer(1, 5);
    const std::int64_t depth = random.integer(1, 40);
    const std::int64_t columns = random.integer(1, 5);
    const Tensor a = random_storage<std::uint8_t>({batch, rows, depth}, random);
    const Tensor b = random_storage<std::int8_t>({depth, columns}, random);
    const Tensor a_zero = random_storage<std::uint8_t>({rows}, random);
    const Tensor b_zero = random_storage<std::int8_t>({columns}, random);
    const Shape shape{batch, rows, columns};
    const Tensor y = run_node(make_node("MatMulInteger"), {{a}, {b}, {a_zero}, {b_zero}},
                              {typed(DType::kInt32, shape)})[0];
    const auto as = centered(a, a_zero.to_int64(), static_cast<std::size_t>(depth));
    const auto bs = centered(b, b_zero.to_int64(), 1);
    for_each_index(shape, [&](const Shape& at) {
      std::int64_t sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        sum += as[offset(a.shape(), {at[0], at[1], k})] * bs[offset(b.shape(), {k, at[2]})];
      }
      ASSERT_EQ(y.view<std::int32_t>()[offset(shape, at)], sum);
    });
  }
}

TEST(FakeQuantize, ExpressesWhatIsStored) {
  Random random(8);
  const Tensor x = random.tensor({1, 3, 5, 7});
  const QuantParams params{
      .storage = DType::kUint8, .scale = {0.013F}, .zero_point = {101}, .axis = {}};
  const Tensor settings = Tensor::of<float>({4}, std::vector<float>{0.013F, 101, 0, 255});
  const auto run = [&](const Tensor& with) {
    const std::vector<const Tensor*> operands{&x, &with};
    const TensorType type = f32(x.shape());
    return evaluate(make_node("FakeQuantize"), operands, {&type, 1})[0];
  };
  EXPECT_EQ(run(settings), dequantize(quantize(x, params), params));
  EXPECT_EQ(run(Tensor(DType::kFloat32, {4})), x) << "scale 0 passes values through";
}

}  // namespace
}  // namespace tare::test
