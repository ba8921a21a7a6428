#include "execute/elements/vector_math.h"

#include "support/graphs.h"
#include "support/node_run.h"

#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Every 2111th float between two bounds, of both signs where the bounds have them.
template <class F>
void sweep(float low, float high, F&& f) {
  for (std::uint64_t bits = 0; bits <= 0xFFFFFFFFU; bits += 2111) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (x >= low && x <= high) {
      f(x);
    }
  }
}

/// Distance to the exact value in units of the last place of a float of that size, at least
/// those of `floor`.
double ulps(float actual, double exact, double floor) {
  const double size = std::max({std::abs(exact), floor, 0x1p-126});
  return std::abs(actual - exact) / std::exp2(std::floor(std::log2(size)) - 23);
}

struct FunctionCase {
  std::string name;
  float (*fast)(float);
  double (*exact)(double);
  float low;
  float high;
  double floor;      ///< results below count as this
  int composed = 1;  ///< functions inside, each with an error of its own
};

class VectorMath : public ::testing::TestWithParam<FunctionCase> {};

TEST_P(VectorMath, IsWithinThreeUlpsForEachFunctionItComposes) {
  const FunctionCase& f = GetParam();
  double worst = 0;
  float where = 0;
  sweep(f.low, f.high, [&](float x) {
    const double distance = ulps(f.fast(x), f.exact(static_cast<double>(x)), f.floor);
    if (!(distance <= worst)) {
      worst = distance;
      where = x;
    }
  });
  EXPECT_LE(worst, 3.0 * f.composed) << "at " << where;
}

TEST_P(VectorMath, HandsNanOn) {
  EXPECT_TRUE(std::isnan(GetParam().fast(std::numeric_limits<float>::quiet_NaN())));
}

double exact_gelu(double x) {
  return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
}

INSTANTIATE_TEST_SUITE_P(
    Function, VectorMath,
    ::testing::Values(
        FunctionCase{"exp", vmath::exp, std::exp, -87, 88.7F, 0},
        FunctionCase{"expm1", vmath::expm1, std::expm1, -100, 0, 0},
        FunctionCase{"sigmoid", vmath::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); },
                     -87, 100, 0},
        FunctionCase{"tanh", vmath::tanh, std::tanh, -50, 50, 0},
        FunctionCase{"erf", vmath::erf, std::erf, -10, 10, 0},
        FunctionCase{
            "softplus", vmath::softplus,
            [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }, -87,
            100, 0},
        FunctionCase{"mish", vmath::mish,
                     [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }, -80, 100,
                     0, 2},
        // Far below 0, 1 + erf cancels: exact to the last place of 1 times |x|, no further.
        FunctionCase{"gelu", [](float x) { return vmath::gelu(x); }, exact_gelu, -1, 100, 0.0,
                     2},
        FunctionCase{"gelu_far_below", [](float x) { return vmath::gelu(x); }, exact_gelu, -10,
                     -1, 4.0}),
    [](const auto& info) { return info.param.name; });

TEST(VectorMathLimits, AreThoseOfTheFunctions) {
  EXPECT_EQ(vmath::exp(kInfinity), kInfinity);
  EXPECT_EQ(vmath::exp(-kInfinity), 0.F);
  EXPECT_EQ(vmath::exp(200.F), kInfinity);
  EXPECT_EQ(vmath::exp(0.F), 1.F);
  EXPECT_EQ(vmath::expm1(-kInfinity), -1.F);
  EXPECT_EQ(vmath::sigmoid(-kInfinity), 0.F);
  EXPECT_EQ(vmath::sigmoid(kInfinity), 1.F);
  EXPECT_EQ(vmath::tanh(-kInfinity), -1.F);
  EXPECT_EQ(vmath::tanh(kInfinity), 1.F);
  EXPECT_EQ(vmath::erf(-kInfinity), -1.F);
  EXPECT_EQ(vmath::erf(kInfinity), 1.F);
  EXPECT_EQ(vmath::softplus(kInfinity), kInfinity);
  EXPECT_EQ(vmath::softplus(-kInfinity), 0.F);
  EXPECT_EQ(vmath::mish(kInfinity), kInfinity);
}

/// Vector code works on the first elements and scalar code on the rest.
TEST(UnaryKernels, GiveAnElementTheSameBitsAtEveryPosition) {
  for (const char* op : {"Exp", "Sigmoid", "Tanh", "Erf", "Gelu", "Softplus", "Mish", "Elu",
                         "Selu", "HardSwish", "Sqrt", "Round"}) {
    for (const float value : {0.3F, 1.7F, 41.25F}) {
      std::vector<float> values(37, value);
      const Tensor result =
          run_node(make_node(op), {{Tensor::of<float>({37}, values)}}, {f32({37})})[0];
      const auto y = result.view<float>();
      for (const float each : y) {
        EXPECT_EQ(each, y.back()) << op;
      }
    }
  }
}

}  // namespace
}  // namespace tare::test
