#include "tare/execute.h"

#include "support/float_sum.h"
#include "support/graphs.h"
#include "support/index.h"
#include "support/random/random.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

struct Case {
  Shape input;
  Shape output;
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> pads;
  bool ceil = false;
  bool include_pad = false;
};

Case random_case(Random& random) {
  Case c;
  const auto axes = static_cast<std::size_t>(random.integer(1, 3));
  c.input = {random.integer(1, 2), random.integer(1, 9)};
  c.output = c.input;
  c.kernel = random.integers(axes, 1, 4);
  c.strides = random.integers(axes, 1, 3);
  c.pads.resize(2 * axes);
  c.ceil = random.coin();
  c.include_pad = random.coin();
  for (std::size_t i = 0; i < axes; ++i) {
    c.pads[i] = random.integer(0, c.kernel[i] - 1);
    c.pads[i + axes] = random.integer(0, c.kernel[i] - 1);
    const std::int64_t extent = c.kernel[i] + random.integer(0, 6);
    const std::int64_t room = extent + c.pads[i] + c.pads[i + axes] - c.kernel[i];
    c.input.push_back(extent);
    c.output.push_back((room + (c.ceil ? c.strides[i] - 1 : 0)) / c.strides[i] + 1);
  }
  return c;
}

/// Calls f(input index, whether it is inside of the input) for every tap inside of the input
/// and its padding.
template <class F>
void for_each_tap(const Case& c, const Shape& at, F&& f) {
  for_each_index(c.kernel, [&](const Shape& tap) {
    Shape from{at[0], at[1]};
    bool inside = true;
    for (std::size_t i = 0; i < c.kernel.size(); ++i) {
      const std::int64_t place = at[i + 2] * c.strides[i] + tap[i] - c.pads[i];
      if (place >= c.input[i + 2] + c.pads[i + c.kernel.size()]) {
        return;
      }
      inside = inside && place >= 0 && place < c.input[i + 2];
      from.push_back(place);
    }
    f(from, inside);
  });
}

Tensor run(const std::string& op, const Case& c, const Tensor& x) {
  Graph graph;
  const ValueId in = graph.add_input("x", f32(c.input));
  graph.set_outputs({add(graph, op, {in}, c.output,
                         {{"kernel_shape", c.kernel},
                          {"strides", c.strides},
                          {"pads", c.pads},
                          {"ceil_mode", std::int64_t{c.ceil}},
                          {"count_include_pad", std::int64_t{c.include_pad}}})});
  return Executable(graph).run(std::vector{x}).at(0);
}

TEST(MaxPool, IsTheLargestTapInsideOfTheInput) {
  Random random(1);
  for (int i = 0; i < 100; ++i) {
    const Case c = random_case(random);
    const Tensor x = random.tensor(c.input);
    const Tensor y = run("MaxPool", c, x);
    for_each_index(c.output, [&](const Shape& at) {
      float largest = -std::numeric_limits<float>::infinity();
      for_each_tap(c, at, [&](const Shape& from, bool inside) {
        largest = inside ? std::max(largest, x.view<float>()[offset(c.input, from)]) : largest;
      });
      ASSERT_EQ(y.view<float>()[offset(c.output, at)], largest);
    });
  }
}

TEST(AveragePool, DividesByTheTapsThatCount) {
  Random random(2);
  for (int i = 0; i < 100; ++i) {
    const Case c = random_case(random);
    const Tensor x = random.tensor(c.input);
    const Tensor y = run("AveragePool", c, x);
    for_each_index(c.output, [&](const Shape& at) {
      Sum sum;
      int count = 0;
      for_each_tap(c, at, [&](const Shape& from, bool inside) {
        count += inside || c.include_pad ? 1 : 0;
        if (inside) {
          sum.add(1, x.view<float>()[offset(c.input, from)]);
        }
      });
      if (count > 0) {
        ASSERT_NEAR(y.view<float>()[offset(c.output, at)], sum.value / count,
                    sum.bound() / count);
      }
    });
  }
}

}  // namespace
}  // namespace tare::test
