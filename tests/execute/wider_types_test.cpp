// Types that arithmetic has no loops of their own for, against C++'s arithmetic on them.
#include "graph/arithmetic/half.h"
#include "support/graphs.h"
#include "support/node_run.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

template <class T>
class RareInteger : public testing::Test {};
using RareIntegers = testing::Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                                    std::int32_t, std::uint32_t>;
TYPED_TEST_SUITE(RareInteger, RareIntegers);

/// All over the range of T, with both of its ends.
template <class T>
std::vector<T> spread(std::size_t count, std::uint64_t step) {
  std::vector<T> values{std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max(), T(1)};
  for (std::uint64_t i = values.size(); i < count; ++i) {
    values.push_back(static_cast<T>(i * step));
  }
  return values;
}

template <class T>
Tensor vector_of(const std::vector<T>& values) {
  return Tensor::of<T>({static_cast<std::int64_t>(values.size())}, values);
}

constexpr std::size_t kCount = 41;

TYPED_TEST(RareInteger, AddsAndMultipliesModuloItsWidth) {
  using T = TypeParam;
  const auto a = spread<T>(kCount, 2654435761);
  const auto b = spread<T>(kCount, 40503);
  const auto run = [&](const char* op) {
    return run_node(make_node(op), {{vector_of(a)}, {vector_of(b)}},
                    {typed(DTypeOf<T>::kValue, {kCount})})[0];
  };
  const Tensor sum = run("Add");
  const Tensor product = run("Mul");
  const Tensor largest = run("Max");
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto x = static_cast<std::uint64_t>(a[i]);
    const auto y = static_cast<std::uint64_t>(b[i]);
    EXPECT_EQ(sum.view<T>()[i], static_cast<T>(x + y));
    EXPECT_EQ(product.view<T>()[i], static_cast<T>(x * y));
    EXPECT_EQ(largest.view<T>()[i], std::max(a[i], b[i]));
  }
}

TYPED_TEST(RareInteger, ComparesAsItsOwnSignSays) {
  using T = TypeParam;
  const auto a = spread<T>(kCount, 2654435761);
  const auto b = spread<T>(kCount, 40503);
  const Tensor less = run_node(make_node("Less"), {{vector_of(a)}, {vector_of(b)}},
                               {typed(DType::kBool, {kCount})})[0];
  for (std::size_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(less.view<bool>()[i], a[i] < b[i]);
  }
}

TYPED_TEST(RareInteger, IsSummedUpModuloItsWidth) {
  using T = TypeParam;
  const auto values = spread<T>(kCount, 2654435761);
  std::uint64_t sum = 0;
  for (const T value : values) {
    sum += static_cast<std::uint64_t>(value);
  }
  const Tensor result = run_node(make_node("ReduceSum", {{"keepdims", std::int64_t{0}}}),
                                 {{vector_of(values)}}, {typed(DTypeOf<T>::kValue, {})})[0];
  EXPECT_EQ(result.view<T>()[0], static_cast<T>(sum));
}

/// What a float becomes as an integer: cut off, and the end of the range that it lies beyond.
template <class T>
T nearest(double value) {
  const auto low = static_cast<double>(std::numeric_limits<T>::lowest());
  const auto high = static_cast<double>(std::numeric_limits<T>::max());
  return static_cast<T>(std::trunc(std::clamp(value, low, high)));
}

TYPED_TEST(RareInteger, SaturatesAtNormsThatItDoesNotHold) {
  using T = TypeParam;
  // Squares are added up in 64 bits, which hold four of these.
  constexpr auto kLarge = static_cast<T>(
      std::min<std::int64_t>(std::numeric_limits<T>::max(), (std::int64_t{1} << 30U) + 1));
  // The norm of four equal numbers is twice that number.
  for (const T each : {T(3), kLarge}) {
    const std::vector<T> values(4, each);
    const Tensor norm = run_node(make_node("ReduceL2", {{"keepdims", std::int64_t{0}}}),
                                 {{vector_of(values)}}, {typed(DTypeOf<T>::kValue, {})})[0];
    EXPECT_EQ(norm.view<T>()[0], nearest<T>(2 * static_cast<double>(each)));
  }
}

TYPED_TEST(RareInteger, SaturatesAtLogarithmsOfZero) {
  using T = TypeParam;
  const Tensor result =
      run_node(make_node("ReduceLogSum", {{"keepdims", std::int64_t{0}}}),
               {{vector_of(std::vector<T>{0, 0})}}, {typed(DTypeOf<T>::kValue, {})})[0];
  EXPECT_EQ(result.view<T>()[0], std::numeric_limits<T>::lowest());
}

TEST(Power, OfIntegersSaturatesForFloatExponentsAndWrapsForIntegers) {
  const Tensor base = Tensor::of<std::int32_t>({2}, {100000, -3});
  const TensorType type = typed(DType::kInt32, {2});
  const auto run = [&](const Tensor& exponent) {
    return run_node(make_node("Pow"), {{base}, {exponent}}, {type})[0];
  };
  const Tensor saturated = run(Tensor::of<float>({2}, {3, 3}));
  EXPECT_EQ(saturated.view<std::int32_t>()[0], std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(saturated.view<std::int32_t>()[1], -27);
  const Tensor wrapped = run(Tensor::of<std::int32_t>({2}, {3, 3}));
  EXPECT_EQ(wrapped.view<std::int32_t>()[0], static_cast<std::int32_t>(1'000'000'000'000'000));
  EXPECT_EQ(wrapped.view<std::int32_t>()[1], -27);
}

TYPED_TEST(RareInteger, MultipliesMatricesModuloItsWidth) {
  using T = TypeParam;
  constexpr std::size_t kExtent = 6;
  const auto a = spread<T>(kExtent * kExtent, 2654435761);
  const auto b = spread<T>(kExtent * kExtent, 40503);
  const Shape shape{kExtent, kExtent};
  const Tensor y =
      run_node(make_node("MatMul"), {{Tensor::of<T>(shape, a)}, {Tensor::of<T>(shape, b)}},
               {typed(DTypeOf<T>::kValue, shape)})[0];
  for (std::size_t i = 0; i < kExtent; ++i) {
    for (std::size_t j = 0; j < kExtent; ++j) {
      std::uint64_t sum = 0;
      for (std::size_t k = 0; k < kExtent; ++k) {
        sum += static_cast<std::uint64_t>(a[i * kExtent + k]) *
               static_cast<std::uint64_t>(b[k * kExtent + j]);
      }
      EXPECT_EQ(y.view<T>()[i * kExtent + j], static_cast<T>(sum));
    }
  }
}

/// Of elements 0, 1/4, 1/2, ..., which f16 holds exactly.
TEST(Half, IsComputedInFloatAndRoundedOnce) {
  const TensorType type = typed(DType::kFloat16, {kCount});
  Tensor x(DType::kFloat16, {kCount});
  std::vector<float> roots;
  for (std::size_t i = 0; i < kCount; ++i) {
    const float value = static_cast<float>(i) / 4;
    const std::uint16_t bits = float_to_half(value);
    std::memcpy(x.mutable_data() + i * sizeof(bits), &bits, sizeof(bits));
    roots.push_back(half_to_float(float_to_half(std::sqrt(value))));
  }
  EXPECT_EQ(run_node(make_node("Sqrt"), {{x}}, {type})[0].to_float(), roots);
}

TEST(WiderTypes, AreNotTakenWhereNoKernelTakesThem) {
  const NodeInput flags{Tensor(DType::kBool, {2})};
  EXPECT_THROW(run_node(make_node("Add"), {flags, flags}, {typed(DType::kBool, {2})}),
               std::runtime_error);
  const NodeInput bytes{Tensor(DType::kInt8, {2})};
  EXPECT_THROW(run_node(make_node("Sqrt"), {bytes}, {typed(DType::kInt8, {2})}),
               std::runtime_error);
}

}  // namespace
}  // namespace tare::test
