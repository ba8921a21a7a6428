
#include "tare/error.h"
#include "tare/execute.h"
#include "tare/integer_graph.h"

#include "support/message.h"
#include "support/random/random_product.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Brought into a register of two's complement by its definition.
std::int64_t held(std::int64_t sum, const Accumulator& accumulator) {
  const std::int64_t steps = std::int64_t{1} << accumulator.bits;
  const std::int64_t low = -steps / 2;
  if (accumulator.overflow == Overflow::kSaturate) {
    return sum < low ? low : sum >= low + steps ? low + steps - 1 : sum;
  }
  const std::int64_t above = (sum - low) % steps;
  return low + (above < 0 ? above + steps : above);
}

/// The bias and then product after product.
std::int64_t reference(const RandomProduct& product, const Shape& at,
                       const Accumulator& accumulator) {
  std::int64_t sum = held(product.bias_of(at), accumulator);
  for (const auto& [x, w] : product.products(at)) {
    sum = held(sum + x * w, accumulator);
  }
  return sum;
}

/// The results of both graphs, which must be those of the reference; how many would be others
/// in exact sums.
int expect_reference(const RandomProduct& product, const Accumulator& accumulator) {
  const auto run = [](const Graph& graph, const Tensor& x) {
    return Executable(graph).run(std::vector<Tensor>{x})[0].to_int64();
  };
  const auto integer = run(product.integer(accumulator), product.x);
  const auto simulated = run(product.simulated(accumulator), product.simulated_x());
  int overflows = 0;
  std::size_t i = 0;
  for_each_index(product.y_shape, [&](const Shape& at) {
    const std::int64_t expected = reference(product, at, accumulator);
    EXPECT_EQ(integer[i], expected);
    EXPECT_EQ(simulated[i], expected);
    overflows += expected == reference(product, at, {}) ? 0 : 1;
    ++i;
  });
  return overflows;
}

class ProductOf : public ::testing::TestWithParam<RandomProduct::Op> {};

TEST_P(ProductOf, FourteenBitsIsThatOfALoopBitForBitIntegerAndSimulated) {
  Random random(14);
  for (const Overflow overflow : {Overflow::kSaturate, Overflow::kWrap}) {
    int overflows = 0;
    for (int round = 0; round < 60 && !HasFailure(); ++round) {
      overflows += expect_reference(RandomProduct(GetParam(), random), {14, overflow});
    }
    EXPECT_GT(overflows, 100) << "too few sums overflow to show anything";
  }
}

TEST_P(ProductOf, AnyWidthIsThatOfALoopBitForBitIntegerAndSimulated) {
  Random random(8);
  for (int round = 0; round < 150 && !HasFailure(); ++round) {
    const Overflow overflow = random.coin() ? Overflow::kSaturate : Overflow::kWrap;
    const auto bits = static_cast<int>(random.integer(8, 32));
    expect_reference(RandomProduct(GetParam(), random), {bits, overflow});
  }
}

TEST_P(ProductOf, SixteenBitsIsTheExactSum) {
  Random random(16);
  bool needs_64_bits = false;
  for (int round = 0; round < 120 && !HasFailure(); ++round) {
    const RandomProduct::Widths widths{round % 3 == 2 ? 1 : 2, round % 3 == 0 ? 1 : 2};
    const RandomProduct product(GetParam(), random, widths);
    const Tensor sums = Executable(product.integer({})).run(std::vector<Tensor>{product.x})[0];
    ASSERT_EQ(sums.dtype(), DType::kInt64);
    std::size_t i = 0;
    for_each_index(product.y_shape, [&](const Shape& at) {
      std::int64_t expected = product.bias_of(at);
      for (const auto& [x, w] : product.products(at)) {
        expected += x * w;
      }
      EXPECT_EQ(sums.view<std::int64_t>()[i++], expected);
      needs_64_bits |= expected != static_cast<std::int32_t>(expected);
    });
  }
  EXPECT_TRUE(needs_64_bits || GetParam() == RandomProduct::Op::kDepthwise);
}

TEST_P(ProductOf, SixteenBitsInAStatedAccumulatorIsThatOfALoop) {
  Random random(15);
  for (int round = 0; round < 60 && !HasFailure(); ++round) {
    const Overflow overflow = random.coin() ? Overflow::kSaturate : Overflow::kWrap;
    const auto bits = static_cast<int>(random.integer(8, 24));  // float32 holds no more
    expect_reference(RandomProduct(GetParam(), random, {2, 1}), {bits, overflow});
  }
}

TEST_P(ProductOf, NoPartialSumLeavesTheGuaranteedRangeInAnyOrder) {
  Random random(3);
  for (int round = 0; round < 60; ++round) {
    const RandomProduct product(GetParam(), random);
    const std::vector<AccumulatorRange> sums = worst_case_accumulators(product.integer({}));
    ASSERT_EQ(sums.size(), 1U);
    const Accumulator register_of_that_size{std::clamp(sums[0].range.bits(), 8, 32)};
    for_each_index(product.y_shape, [&](const Shape& at) {
      std::vector<std::int64_t> terms{product.bias_of(at)};
      for (const auto& [x, w] : product.products(at)) {
        terms.push_back(x * w);
      }
      for (std::size_t i = terms.size(); i-- > 1;) {
        std::swap(
            terms[i],
            terms[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i)))]);
      }
      std::int64_t sum = 0;
      for (const std::int64_t term : terms) {
        sum += term;
        ASSERT_GE(sum, sums[0].range.low);
        ASSERT_LE(sum, sums[0].range.high);
        ASSERT_EQ(held(sum, register_of_that_size), sum);
      }
    });
  }
}

std::string op_name(const ::testing::TestParamInfo<RandomProduct::Op>& info) {
  constexpr std::array kNames{"Conv", "DepthwiseConv", "ConvTranspose", "MatMul", "Gemm"};
  return kNames[static_cast<std::size_t>(info.param)];
}

/// The product of a row and a column of that many equal numbers, but for the first of the row.
std::int64_t long_sum(DType x, DType w, std::int64_t depth, std::int64_t each) {
  const auto type = [](DType storage, const Shape& shape) {
    return TensorType{.dtype = storage,
                      .shape = shape,
                      .quant = QuantParams{.storage = storage},
                      .point = {}};
  };
  const auto filled = [&](DType storage, const Shape& shape, std::int64_t value) {
    const Tensor real = Tensor::of<float>(
        shape, std::vector<float>(static_cast<std::size_t>(depth), static_cast<float>(value)));
    return quantize(real, *type(storage, shape).quant);
  };
  Graph graph;
  const ValueId row = graph.add_input("x", type(x, {1, depth}));
  const ValueId column =
      graph.add_constant("w", filled(w, {depth, 1}, each), type(w, {depth, 1}));
  const NodeId id = graph.add_node("sum", "MatMul", {row, column},
                                   {{"sum", type(sum_type(x, w, {}), {1, 1})}});
  graph.set_outputs({graph.node(id).outputs[0]});
  Tensor values = filled(x, {1, depth}, storage_range(x, false).high);
  values.mutable_data()[0] ^= std::byte{1};
  return Executable(graph).run(std::vector<Tensor>{values})[0].to_int64()[0];
}

TEST(Products, OfManyFactorsAreExact) {
  // 30000 * 255 * 15 is more than float32 holds to the last bit, and odd without one of them.
  EXPECT_EQ(long_sum(DType::kUint8, DType::kInt8, 30'000, 15), 30'000 * 255 * 15 - 15);
  EXPECT_EQ(long_sum(DType::kUint8, DType::kInt8, 60'000, 127), 60'000 * 255 * 127 - 127);
  EXPECT_EQ(long_sum(DType::kUint16, DType::kInt8, 60'000, 127), 60'000LL * 65'535 * 127 - 127);
  EXPECT_EQ(long_sum(DType::kUint16, DType::kUint16, 60'000, 65'535),
            60'000LL * 65'535 * 65'535 - 65'535);
}

INSTANTIATE_TEST_SUITE_P(Accumulators, ProductOf, ::testing::ValuesIn(RandomProduct::kOps),
                         op_name);

/// All of `weights` times one column, with a bias.
Graph dense(const std::string& weights, std::int64_t depth, std::int64_t bias,
            const std::string& attributes = "") {
  const std::string d = std::to_string(depth);
  return parse("graph \"dense\" opset 17 (%x : u8[1," + d + "] q(1, 100)) -> (%y) {\n" +
               "const %w : i8[1," + d + "] q(1, -3) = " + weights + "\n" +
               "const %b : i32[1] q(1, 0) = [" + std::to_string(bias) + "]\n" +
               "%y = Gemm(%x, %w, %b) {" + attributes + "transB=1} : i32[1,1] q(1, 0)\n}");
}

std::int64_t run(const Graph& graph, const std::vector<std::uint8_t>& x) {
  const auto depth = static_cast<std::int64_t>(x.size());
  return Executable(graph)
      .run(std::vector<Tensor>{Tensor::of<std::uint8_t>({1, depth}, x)})[0]
      .to_int64()[0];
}

TEST(WorstCaseAccumulators, AreReachedByTheWorstInputs) {
  // Centred, the weights are 8, -3, 0 and 130, the inputs -100 to 155.
  const std::string weights = "[5, -6, -3, 127]";
  const std::int64_t most = 155 * 8 + 100 * 3 + 155 * 130;
  const std::int64_t least = -100 * 8 - 155 * 3 - 100 * 130;
  EXPECT_EQ(worst_case_accumulators(dense(weights, 4, 9))[0].range,
            (SumRange{least, most + 9}));
  EXPECT_EQ(worst_case_accumulators(dense(weights, 4, -9))[0].range,
            (SumRange{least - 9, most}));
  EXPECT_EQ(run(dense(weights, 4, 9), {255, 0, 7, 255}), most + 9);
  EXPECT_EQ(run(dense(weights, 4, -9), {0, 255, 7, 0}), least - 9);
}

TEST(WorstCaseAccumulators, CountComputedFactorsAtTheirEnds) {
  const Graph graph = parse(
      "graph \"g\" opset 17 (%a : u8[2,3] q(1, 100), %b : i8[3,4] q(1, 0)) -> (%y) {\n"
      "%y = MatMul(%a, %b) : i32[2,4] q(1, 0)\n}");
  EXPECT_EQ(worst_case_accumulators(graph)[0].range, (SumRange{-3 * 155 * 128, 3 * 155 * 127}));
}

TEST(WorstCaseAccumulators, NeedNoMoreBitsThanTheirEnds) {
  EXPECT_EQ((SumRange{0, 0}).bits(), 1);
  EXPECT_EQ((SumRange{-1, 0}).bits(), 1);
  EXPECT_EQ((SumRange{0, 1}).bits(), 2);
  EXPECT_EQ((SumRange{-128, 127}).bits(), 8);
  EXPECT_EQ((SumRange{-128, 128}).bits(), 9);
  EXPECT_EQ((SumRange{-129, 0}).bits(), 9);
  EXPECT_EQ((SumRange{-(std::int64_t{1} << 31), 0}).bits(), 32);
}

TEST(Saturation, HappensOnTheWayNotAtTheEnd) {
  // 127 * 155 leaves 14 bits, and so does the whole sum.
  const Graph graph = dense("[124, -128]", 2, 0, "accumulator_bits=14, ");
  EXPECT_EQ(run(graph, {255, 130}), 8191 - 125 * 30);
}

TEST(Saturation, OfTheBiasComesFirst) {
  EXPECT_EQ(run(dense("[-4]", 1, 9000, "accumulator_bits=14, "), {255}), 8191 - 155);
  const char* const wrap = "accumulator_bits=14, accumulator_overflow=\"wrap\", ";
  EXPECT_EQ(run(dense("[-4]", 1, 9000, wrap), {255}), 9000 - 16384 - 155);
}

TEST(AccumulatorAttributes, SurviveTheTextOfTheGraph) {
  for (const Accumulator& stated :
       {Accumulator{14, Overflow::kWrap}, Accumulator{8}, Accumulator{32, Overflow::kWrap}}) {
    Attributes attributes;
    set_accumulator(attributes, stated);
    EXPECT_TRUE(states_accumulator(attributes));
    EXPECT_EQ(accumulator(attributes), stated);
  }
  const Graph graph = dense("[1]", 1, 0, "accumulator_bits=14, ");
  EXPECT_EQ(parse(print(graph)), graph);
}

TEST(AccumulatorAttributes, AreAbsentForThirtyTwoBitsThatSaturate) {
  Attributes attributes{{"accumulator_bits", std::int64_t{14}}};
  set_accumulator(attributes, {});
  EXPECT_EQ(attributes, Attributes{});
  EXPECT_EQ(accumulator(attributes), Accumulator{});
}

TEST(AccumulatorAttributes, OtherNumbersAndWordsAreNoModel) {
  const auto fault = [](const char* attributes) {
    return message_of([&] { verify(dense("[1]", 1, 0, attributes)); },
                      ErrorCode::kInvalidModel);
  };
  EXPECT_NE(fault("accumulator_bits=7, ").find("accumulator_bits is 7, expected 8 to 32"),
            std::string::npos)
      << fault("accumulator_bits=7, ");
  EXPECT_NE(fault("accumulator_bits=33, ").find("expected 8 to 32"), std::string::npos);
  EXPECT_NE(fault("accumulator_overflow=\"throw\", ").find("expected saturate or wrap"),
            std::string::npos);
}

}  // namespace
}  // namespace tare::test
