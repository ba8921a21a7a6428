#include "tare/error.h"
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
  Shape weights;
  Shape output;
  std::int64_t groups = 1;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  std::vector<std::int64_t> pads;
  bool known_weights = true;
  bool bias = false;
  bool known_bias = true;

  std::size_t axes() const { return strides.size(); }
  Attributes attributes() const {
    return {{"strides", strides}, {"dilations", dilations}, {"pads", pads}, {"group", groups}};
  }
};

std::string describe(const Case& c) {
  return to_string(c.input) + " * " + to_string(c.weights) + " groups " +
         std::to_string(c.groups) + " strides " + to_string(c.strides) + " dilations " +
         to_string(c.dilations) + " pads " + to_string(c.pads);
}

/// Channels, groups, window and padding; extents are the caller's.
Case random_case(Random& random) {
  Case c;
  const auto axes = static_cast<std::size_t>(random.integer(1, 3));
  const std::int64_t per_group = random.integer(1, 9);
  c.groups =
      std::vector<std::int64_t>{1, 1, 2, 3, 16}[static_cast<std::size_t>(random.integer(0, 4))];
  c.input = {random.integer(1, 2), per_group * c.groups};
  c.strides = random.integers(axes, 1, 3);
  c.dilations = random.integers(axes, 1, 2);
  c.pads = random.integers(2 * axes, 0, 2);
  c.known_weights = random.coin();
  c.bias = random.coin();
  c.known_bias = random.coin();
  return c;
}

/// The node's result on random operands next to `sums`, which hold what it should be.
template <class Reference>
void check_case(const std::string& op, const Case& c, std::int64_t channels, Random& random,
                Reference&& reference) {
  Graph graph;
  std::vector<Tensor> inputs;
  const auto operand = [&](const std::string& name, const Tensor& tensor, bool known) {
    if (!known) {
      inputs.push_back(tensor);
    }
    return known ? graph.add_constant(name, tensor)
                 : graph.add_input(name, f32(tensor.shape()));
  };
  const Tensor x = random.tensor(c.input);
  const Tensor w = random.tensor(c.weights);
  const Tensor b = random.tensor({channels});
  std::vector<ValueId> operands{operand("x", x, false), operand("w", w, c.known_weights)};
  if (c.bias) {
    operands.push_back(operand("b", b, c.known_bias));
  }
  graph.set_outputs({add(graph, op, operands, c.output, c.attributes())});

  std::vector<Sum> sums(static_cast<std::size_t>(element_count(c.output)));
  if (c.bias) {
    for_each_index(c.output, [&](const Shape& index) {
      sums[offset(c.output, index)].add(1, b.view<float>()[static_cast<std::size_t>(index[1])]);
    });
  }
  reference(x.view<float>(), w.view<float>(), sums);
  for (const bool precise : {false, true}) {
    const Tensor y = Executable(graph, {.observe = {}, .precise = precise}).run(inputs).at(0);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      ASSERT_NEAR(y.view<float>()[i], sums[i].value, sums[i].bound())
          << describe(c) << " at " << i << (precise ? ", precise" : "");
    }
  }
}

/// Roots of mean square errors.
struct RoundingErrors {
  double convolution = 0;  ///< against sums in double
  double once = 0;         ///< of those, rounded to float
};

/// Of y = x * w + b, [1,C,8,8].
RoundingErrors rounding_errors(std::int64_t channels, bool precise) {
  Random random(3);
  const Shape shape{1, channels, 8, 8};
  const Tensor x = random.tensor(shape);
  const Tensor w = random.tensor({channels, channels, 1, 1});
  Tensor b = random.tensor({channels});
  for (float& value : b.mutable_view<float>()) {
    value *= 100;  // as behind a folded batch norm
  }
  Graph graph;
  const std::vector<ValueId> operands{graph.add_input("x", f32(shape)),
                                      graph.add_constant("w", w), graph.add_constant("b", b)};
  graph.set_outputs({add(graph, "Conv", operands, shape)});
  const Tensor y = Executable(graph, {.observe = {}, .precise = precise}).run({&x, 1}).at(0);
  RoundingErrors squares;
  for_each_index(shape, [&](const Shape& at) {
    const auto output = static_cast<std::size_t>(at[1]);
    double sum = b.view<float>()[output];
    for (std::int64_t i = 0; i < channels; ++i) {
      sum += static_cast<double>(x.view<float>()[offset(shape, {0, i, at[2], at[3]})]) *
             static_cast<double>(w.view<float>()[output * static_cast<std::size_t>(channels) +
                                                 static_cast<std::size_t>(i)]);
    }
    const double error = static_cast<double>(y.view<float>()[offset(shape, at)]) - sum;
    const double once = static_cast<double>(static_cast<float>(sum)) - sum;
    squares.convolution += error * error;
    squares.once += once * once;
  });
  const auto count = static_cast<double>(y.size());
  return {std::sqrt(squares.convolution / count), std::sqrt(squares.once / count)};
}

TEST(Conv, RoundsToThePrecisionOfTheBiasOnceWhenAskedToBePrecise) {
  // Sums of products are a tenth of the biases, and what rounding them adds is small beside the
  // rounding of the result; from the bias on, every product would be rounded as the result is.
  for (const std::int64_t channels : {32, 128}) {
    const RoundingErrors precise = rounding_errors(channels, true);
    EXPECT_LT(precise.convolution, 1.25 * precise.once) << channels;
    EXPECT_LE(precise.convolution, rounding_errors(channels, false).convolution) << channels;
  }
}

TEST(Conv, EqualsTheSumOfProductsForOnePosition) {
  Random random(4);
  for (const std::int64_t channels : {15, 64, 72, 96, 272}) {
    for (const bool known : {false, true}) {
      const Case c{.input = {2, channels, 5, 3},
                   .weights = {10, channels, 1, 1},
                   .output = {2, 10, 5, 3},
                   .strides = {1, 1},
                   .dilations = {1, 1},
                   .pads = {0, 0, 0, 0},
                   .known_weights = known,
                   .bias = true,
                   .known_bias = known};
      check_case("Conv", c, 10, random, [&](auto x, auto w, std::vector<Sum>& sums) {
        for_each_index(c.output, [&](const Shape& at) {
          for (std::int64_t i = 0; i < channels; ++i) {
            sums[offset(c.output, at)].add(x[offset(c.input, {at[0], i, at[2], at[3]})],
                                           w[offset(c.weights, {at[1], i, 0, 0})]);
          }
        });
      });
    }
  }
}

TEST(Conv, EqualsTheSumOfProductsForRandomGeometry) {
  Random random(1);
  for (int i = 0; i < 150; ++i) {
    Case c = random_case(random);
    const std::int64_t per_group = c.input[1] / c.groups;
    c.weights = {c.groups * random.integer(1, 9), per_group};
    c.output = {c.input[0], c.weights[0]};
    for (std::size_t axis = 0; axis < c.axes(); ++axis) {
      const std::int64_t kernel = random.integer(1, 4);
      const std::int64_t reach = (kernel - 1) * c.dilations[axis] + 1;
      const std::int64_t padding = c.pads[axis] + c.pads[axis + c.axes()];
      const std::int64_t extent =
          std::max<std::int64_t>(1, reach - padding) + random.integer(0, 7);
      c.input.push_back(extent);
      c.weights.push_back(kernel);
      c.output.push_back((extent + padding - reach) / c.strides[axis] + 1);
    }
    check_case("Conv", c, c.weights[0], random, [&](auto x, auto w, std::vector<Sum>& sums) {
      for_each_index(c.output, [&](const Shape& at) {
        for_each_index(Shape(c.weights.begin() + 1, c.weights.end()), [&](const Shape& tap) {
          Shape from{at[0], at[1] / (c.weights[0] / c.groups) * per_group + tap[0]};
          Shape weight{at[1]};
          weight.insert(weight.end(), tap.begin(), tap.end());
          for (std::size_t axis = 0; axis < c.axes(); ++axis) {
            from.push_back(at[axis + 2] * c.strides[axis] + tap[axis + 1] * c.dilations[axis] -
                           c.pads[axis]);
            if (from.back() < 0 || from.back() >= c.input[axis + 2]) {
              return;
            }
          }
          sums[offset(c.output, at)].add(x[offset(c.input, from)],
                                         w[offset(c.weights, weight)]);
        });
      });
    });
  }
}

TEST(ConvTranspose, EqualsTheSumOfProductsForRandomGeometry) {
  Random random(2);
  for (int i = 0; i < 60; ++i) {
    Case c = random_case(random);
    const std::int64_t per_group = random.integer(1, 9);
    c.weights = {c.input[1], per_group};
    c.output = {c.input[0], per_group * c.groups};
    for (std::size_t axis = 0; axis < c.axes(); ++axis) {
      const std::int64_t padding = c.pads[axis] + c.pads[axis + c.axes()];
      const std::int64_t kernel = random.integer(1, 4);
      const std::int64_t reach = (kernel - 1) * c.dilations[axis] + 1;
      const std::int64_t extent = random.integer(1, 5) + padding;
      c.input.push_back(extent);
      c.weights.push_back(kernel);
      c.output.push_back((extent - 1) * c.strides[axis] + reach - padding);
    }
    check_case("ConvTranspose", c, c.output[1], random,
               [&](auto x, auto w, std::vector<Sum>& sums) {
                 for_each_index(c.input, [&](const Shape& from) {
                   for_each_index(
                       Shape(c.weights.begin() + 1, c.weights.end()), [&](const Shape& tap) {
                         const std::int64_t group = from[1] / (c.input[1] / c.groups);
                         Shape at{from[0], group * per_group + tap[0]};
                         Shape weight{from[1]};
                         weight.insert(weight.end(), tap.begin(), tap.end());
                         for (std::size_t axis = 0; axis < c.axes(); ++axis) {
                           at.push_back(from[axis + 2] * c.strides[axis] +
                                        tap[axis + 1] * c.dilations[axis] - c.pads[axis]);
                           if (at.back() < 0 || at.back() >= c.output[axis + 2]) {
                             return;
                           }
                         }
                         sums[offset(c.output, at)].add(x[offset(c.input, from)],
                                                        w[offset(c.weights, weight)]);
                       });
                 });
               });
  }
}

/// What SAME padding means, spelled out as explicit pads.
TEST(Conv, PadsTheSameAutomaticallyAsByHand) {
  Random random(3);
  for (const bool upper : {true, false}) {
    for (const std::int64_t extent : {5, 6, 7, 8}) {
      const std::int64_t count = (extent + 1) / 2;  // stride 2
      const std::int64_t total = std::max<std::int64_t>(0, (count - 1) * 2 + 3 - extent);
      const std::int64_t begin = upper ? total / 2 : total - total / 2;
      const Tensor x = random.tensor({1, 4, extent});
      const Tensor w = random.tensor({4, 4, 3});
      const auto run = [&](Attributes attributes) {
        attributes.set("strides", std::vector<std::int64_t>{2});
        Graph graph;
        const ValueId in = graph.add_input("x", f32(x.shape()));
        graph.set_outputs(
            {add(graph, "Conv", {in, graph.add_constant("w", w)}, {1, 4, count}, attributes)});
        return Executable(graph).run(std::vector{x}).at(0);
      };
      EXPECT_EQ(run({{"auto_pad", std::string(upper ? "SAME_UPPER" : "SAME_LOWER")}}),
                run({{"pads", std::vector<std::int64_t>{begin, total - begin}}}))
          << extent;
    }
  }
}

/// The code of what compiling a node over [1,1,5] with a result of one position throws.
ErrorCode refusal(const std::string& op, const Attributes& attributes) {
  Graph graph;
  Random random(5);
  const ValueId x = graph.add_input("x", f32({1, 1, 5}));
  std::vector<ValueId> operands{x};
  if (!op.ends_with("Pool")) {
    operands.push_back(graph.add_constant("w", random.tensor({1, 1, 3})));
  }
  graph.set_outputs({add(graph, op, operands, {1, 1, 1}, attributes)});
  try {
    const Executable executable(graph);
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("node '" + op + "'"), std::string::npos)
        << error.what();
    return error.code();
  }
  ADD_FAILURE() << "nothing was refused";
  return ErrorCode::kInternal;
}

/// Numbers whose sums and products would overflow are mistakes of the model, not ours.
TEST(Conv, RefusesWindowsThatLeadTooFar) {
  using Numbers = std::vector<std::int64_t>;
  const Numbers kernel{3};
  for (const std::int64_t far :
       {std::int64_t{1} << 61, std::numeric_limits<std::int64_t>::max()}) {
    for (const char* op : {"Conv", "ConvTranspose", "MaxPool"}) {
      EXPECT_EQ(refusal(op, {{"kernel_shape", kernel}, {"dilations", Numbers{far}}}),
                ErrorCode::kInvalidModel);
      EXPECT_EQ(refusal(op, {{"kernel_shape", kernel}, {"pads", Numbers{far, far}}}),
                ErrorCode::kInvalidModel);
    }
    EXPECT_EQ(refusal("ConvTranspose", {{"strides", Numbers{far}}}), ErrorCode::kInvalidModel);
  }
}

}  // namespace
}  // namespace tare::test
