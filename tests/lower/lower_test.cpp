
#include "lower/lower.h"

#include "tare/config.h"
#include "tare/error.h"
#include "tare/execute.h"
#include "tare/graph.h"
#include "tare/quant_table.h"
#include "tare/quantize.h"
#include "tare/simulate.h"

#include "lower/forms/forms.h"
#include "support/difference.h"
#include "support/files/samples_in_memory.h"
#include "support/graphs.h"
#include "support/tensors.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Two convolutions with a residual around the second one, pooling and a dense head.
Graph small_network() {
  Graph graph;
  const auto add = [&](const std::string& name, const std::string& op,
                       std::vector<ValueId> inputs, Shape shape, Attributes attributes = {}) {
    const NodeId id = graph.add_node(name + "_node", op, std::move(inputs),
                                     {{name, f32(std::move(shape))}}, std::move(attributes));
    return graph.node(id).outputs[0];
  };
  const Attributes padded{{"kernel_shape", std::vector<std::int64_t>{3, 3}},
                          {"pads", std::vector<std::int64_t>{1, 1, 1, 1}}};
  const ValueId x = graph.add_input("x", f32({1, 3, 8, 8}));
  const ValueId w1 = graph.add_constant("w1", normal_tensor({8, 3, 3, 3}, 1));
  const ValueId b1 = graph.add_constant("b1", normal_tensor({8}, 2));
  const ValueId w2 = graph.add_constant("w2", normal_tensor({8, 8, 3, 3}, 3));
  const ValueId w3 = graph.add_constant("w3", normal_tensor({5, 128}, 4));
  const ValueId c1 = add("c1", "Conv", {x, w1, b1}, {1, 8, 8, 8}, padded);
  const ValueId r1 = add("r1", "Relu", {c1}, {1, 8, 8, 8});
  const ValueId c2 = add("c2", "Conv", {r1, w2}, {1, 8, 8, 8}, padded);
  const ValueId sum = add("sum", "Add", {c2, r1}, {1, 8, 8, 8});
  const ValueId r2 = add("r2", "Relu", {sum}, {1, 8, 8, 8});
  const ValueId pool = add("pool", "MaxPool", {r2}, {1, 8, 4, 4},
                           {{"kernel_shape", std::vector<std::int64_t>{2, 2}},
                            {"strides", std::vector<std::int64_t>{2, 2}}});
  const ValueId flat = add("flat", "Flatten", {pool}, {1, 128}, {{"axis", std::int64_t{1}}});
  const ValueId y = add("y", "Gemm", {flat, w3}, {1, 5}, {{"transB", std::int64_t{1}}});
  graph.set_outputs({y});
  return graph;
}

struct Quantized {
  SamplesInMemory data{{{"x", normal_tensor({16, 3, 8, 8}, 9)}}};
  QuantizeResult result;

  explicit Quantized(const Config& config = {}) {
    result = quantize(small_network(), data, config, Toolkit::builtin());
  }
};

TEST(Bind, WithEveryPointDisabledComputesTheSource) {
  const Quantized q;
  const Graph bound = tare::bind(q.result.simulated, {});
  EXPECT_FALSE(operator_counts(bound).contains("SimulatedQuantize"));
  for (std::size_t i = 0; i < 4; ++i) {
    const std::vector<Tensor> inputs{q.data.read("x", i, 1)};
    const Tensor a = Executable(bound).run(inputs)[0];
    const Tensor b = Executable(q.result.simulated.source).run(inputs)[0];
    for (std::size_t k = 0; k < a.view<float>().size(); ++k) {
      // The executor may fuse the two differently: a few roundings of sums of 128 products.
      EXPECT_NEAR(a.view<float>()[k], b.view<float>()[k], 128 * 0x1p-23 * 40);
    }
  }
}

TEST(Bind, GivesWhatTheIntegerGraphGives) {
  const Quantized q;
  const Graph bound = tare::bind(q.result.simulated, q.result.table);
  // Requantize multiplies by one rounded ratio where simulation divides, so a value on the edge
  // of a step may fall to either side of it: the results agree far below the quantization
  // error.
  EXPECT_GT(sqnr(bound, q.result.integer, q.data),
            sqnr(q.result.prepared, q.result.integer, q.data) + 10);
}

TEST(Bind, OnePointAtATimeCostsLessThanAllOfThem) {
  const Quantized q;
  const double all =
      sqnr(q.result.prepared, tare::bind(q.result.simulated, q.result.table), q.data);
  for (const QuantPoint& point : q.result.simulated.points) {
    if (point.role == Role::kAccumulator) {
      continue;
    }
    QuantTable alone;
    alone.emplace(point.name, q.result.table.at(point.name));
    EXPECT_GT(sqnr(q.result.prepared, tare::bind(q.result.simulated, alone), q.data), all)
        << point.name;
  }
}

TEST(Bind, AWeightThatIsDisabledTakesItsAccumulatorAlong) {
  // Weights that make up for each other would miss one that is gone.
  Config config;
  config.rounding = Rounding::kNearest;
  const Quantized q(config);
  QuantTable table = q.result.table;
  table.at("w2").enabled = false;
  EXPECT_GT(sqnr(q.result.prepared, tare::bind(q.result.simulated, table), q.data),
            sqnr(q.result.prepared, tare::bind(q.result.simulated, q.result.table), q.data));
}

/// One sum of so many products of 127 with 127.
struct SumOfLargest {
  int bits;  ///< that hold any sum of storage values there can be
  double simulated;
  double integer;

  explicit SumOfLargest(std::int64_t count) {
    Graph graph;
    const ValueId x = graph.add_input("x", f32({1, count}));
    const ValueId w = graph.add_constant("w", ones({count, 1}));
    const NodeId product = graph.add_node("product", "MatMul", {x, w}, {{"y", f32({1, 1})}});
    graph.set_outputs({graph.node(product).outputs[0]});
    Config config;
    config.target = "tensorrt";
    config.effort = Effort::kFast;
    const SamplesInMemory data({{"x", ones({4, count})}});
    const QuantizeResult result = quantize(graph, data, config, Toolkit::builtin());
    bits = worst_case_accumulators(result.integer).at(0).range.bits();
    simulated = run(tare::bind(result.simulated, result.table), count).view<float>()[0];
    integer = run(result.integer, count).view<std::int32_t>()[0];
  }

 private:
  /// What the product adds up of ones.
  static Tensor run(Graph graph, std::int64_t count) {
    for (const NodeId id : graph.nodes()) {
      if (graph.node(id).op == "MatMul") {
        graph.set_outputs({graph.node(id).outputs[0]});
      }
    }
    graph.erase_unused();
    const Tensor x = ones({1, count});
    return Executable(graph).run(std::span(&x, 1))[0];
  }
};

TEST(Bind, AddsUpExactlyWhereAnySumFitsTheSignificandOfFloats) {
  // With its sign that has 25 bits; the largest product is -128 * 127.
  const SumOfLargest sum(1032);
  EXPECT_EQ(sum.bits, 25);
  EXPECT_EQ(sum.integer, 127 * 127 * 1032);
  EXPECT_EQ(sum.simulated, sum.integer);
}

TEST(Bind, RoundsSumsThatNeedMoreBits) {
  const SumOfLargest sum(1041);  // odd and above 2^24, so no float
  EXPECT_EQ(sum.bits, 26);
  EXPECT_EQ(sum.integer, 127 * 127 * 1041);
  EXPECT_NE(sum.simulated, sum.integer);
  EXPECT_NEAR(sum.simulated, sum.integer, 1041);  // a rounding by at most 1 in each addition
}

TEST(Lower, AddsTheCorrectionToTheBias) {
  Config config;
  config.bias_correction = false;
  const Quantized q(config);
  QuantTable table = q.result.table;
  // c1 has a bias, c2 has none; 100 steps are exact in both scales.
  for (const std::string point : {"x*w1", "r1*w2"}) {
    PointResult& accumulator = table.at(point);
    ASSERT_TRUE(accumulator.bias_correction.empty());
    for (const float scale : accumulator.params.scale) {
      accumulator.bias_correction.push_back(100 * scale);
    }
  }
  const Graph before = lower(q.result.simulated, q.result.table);
  const Graph after = lower(q.result.simulated, table);
  const auto bias = [](const Graph& graph, const std::string& result) {
    const Node& node = graph.node(*graph.producer(*graph.find_value(result)));
    return node.inputs.size() < 3 ? std::vector<std::int64_t>(8, 0)
                                  : graph.constant(node.inputs[2])->to_int64();
  };
  for (const char* result : {"c1_accumulated", "c2_accumulated"}) {
    for (std::size_t i = 0; i < 8; ++i) {
      // The sum of bias and correction is rounded where the bias alone was.
      EXPECT_NEAR(bias(after, result)[i], bias(before, result)[i] + 100, 1) << result;
    }
  }
  EXPECT_GT(sqnr(tare::bind(q.result.simulated, table), after, q.data),
            sqnr(before, after, q.data) + 10)
      << "simulation shows the corrected bias too";
}

TEST(Lower, LeavesNoFloatOperatorBetweenTheFirstQuantizeAndTheLastDequantize) {
  const Quantized q;
  const std::map<std::string, int> expected{
      {"Quantize", 1}, {"Conv", 2},    {"Requantize", 2}, {"Add", 1},
      {"MaxPool", 1},  {"Flatten", 1}, {"Gemm", 1},       {"Dequantize", 1}};
  EXPECT_EQ(operator_counts(q.result.integer), expected) << print(q.result.integer, 8);
  for (const NodeId id : q.result.integer.nodes()) {
    const Node& node = q.result.integer.node(id);
    EXPECT_EQ(q.result.integer.type(node.outputs[0]).quant.has_value(),
              node.op != "Dequantize");
  }
}

TEST(Lower, GivesEachResultOfTheModelItsName) {
  // What is never negative passes a Relu as it is, so both results are the same integers.
  const Graph graph = parse(R"(graph "g" opset 17 (%x : f32[1,4]) -> (%y, %z) {
  const %c : f32[4] = [1, 2, 3, 4]
  %z = Mul(%x, %c) : f32[1,4]
  %y = Relu(%z) : f32[1,4]
}
)");
  std::vector<float> values;
  for (int i = 0; i < 64; ++i) {
    values.push_back(static_cast<float>(i));
  }
  const SamplesInMemory data({{"x", Tensor::of<float>({16, 4}, values)}});
  Config config;
  config.objective = Objective::kCoverage;
  const Graph integer = quantize(graph, data, config, Toolkit::builtin()).integer;
  ASSERT_EQ(integer.outputs().size(), 2U);
  EXPECT_EQ(integer.name(integer.outputs()[0]), "y");
  EXPECT_EQ(integer.name(integer.outputs()[1]), "z");
  const std::vector<Tensor> inputs{data.read("x", 3, 1)};
  const std::vector<Tensor> results = Executable(integer).run(inputs);
  EXPECT_EQ(results[0], results[1]);
  for (const Form form : {Form::kQdq, Form::kQoperator, Form::kInteger}) {
    const Graph exported = export_form(integer, form);
    EXPECT_EQ(exported.name(exported.outputs()[0]), "y");
    EXPECT_EQ(exported.name(exported.outputs()[1]), "z");
  }
}

TEST(Lower, IsCloseToTheFloatGraph) {
  const Quantized q;
  // A wrong zero point, axis or bias makes noise as large as the signal; rounding stays below a
  // tenth of it.
  EXPECT_GT(sqnr(q.result.prepared, q.result.integer, q.data), 20);
}

TEST(Lower, KeepsAFallbackRegionInFloat) {
  Config config;
  config.layers.push_back({.op = "Conv", .name = "c2_node", .keep_float = true});
  const Quantized q(config);
  ASSERT_FALSE(q.result.simulated.kept_float.empty());
  EXPECT_EQ(q.result.simulated.kept_float.front().node, "c2_node");
  const auto c2 = q.result.integer.find_node("c2_node");
  ASSERT_TRUE(c2.has_value());
  EXPECT_EQ(q.result.integer.type(q.result.integer.node(*c2).outputs[0]).dtype,
            DType::kFloat32);
}

TEST(Lower, ADisabledPointReturnsItsRegionToFloat) {
  // Weights that make up for each other would miss one that is gone.
  Config config;
  config.rounding = Rounding::kNearest;
  const Quantized q(config);
  QuantTable table = q.result.table;
  table.at("w2").enabled = false;
  const Graph mixed = lower(q.result.simulated, table);
  EXPECT_EQ(operator_counts(mixed)["Conv"], 2);
  EXPECT_GT(sqnr(q.result.prepared, mixed, q.data),
            sqnr(q.result.prepared, q.result.integer, q.data));
  const auto c2 = mixed.find_node("c2_node");
  ASSERT_TRUE(c2.has_value()) << print(mixed, 8);
  EXPECT_EQ(mixed.type(mixed.node(*c2).outputs[0]).dtype, DType::kFloat32);
}

TEST(ToQdq, ComputesWhatTheIntegerGraphComputesUpToOneRounding) {
  const Quantized q;
  // The two round the same sums once each, from factors that differ by one float rounding.
  EXPECT_GT(sqnr(q.result.integer, to_qdq(q.result.integer), q.data),
            sqnr(q.result.prepared, q.result.integer, q.data) + 10);
  const auto counts = operator_counts(to_qdq(q.result.integer));
  EXPECT_EQ(counts.at("Conv"), 2);
  EXPECT_FALSE(counts.contains("Relu")) << "storage saturates at real 0 already";
}

TEST(Quantize, RefusesAnOptionThatTheCalibratorDoesNotHave) {
  Config config;
  config.activations.calibrator = {.name = "percentile", .options = {{"percent", 99.0}}};
  try {
    const Quantized q(config);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidConfig);
    EXPECT_STREQ(error.what(),
                 "activations: calibrator 'percentile': has no option 'percent', expected "
                 "percentile\n"
                 "  while reading the configuration");
  }
}

TEST(Quantize, GivesTheSameGraphForAnyNumberOfThreads) {
  const SamplesInMemory data{{{"x", normal_tensor({40, 3, 8, 8}, 11)}}};
  std::string first;
  for (const int threads : {1, 2, 3, 7}) {
    const QuantizeResult result =
        quantize(small_network(), data, {}, Toolkit::builtin(), {.threads = threads});
    const std::string text = print(result.integer);
    if (first.empty()) {
      first = text;
    }
    EXPECT_EQ(text, first) << threads << " threads";
  }
}

}  // namespace
}  // namespace tare::test
