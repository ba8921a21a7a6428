// Weights of which so many neighbours along the input channels share a scale.
#include "tare/error.h"
#include "tare/execute.h"
#include "tare/integer_graph.h"
#include "tare/model_files.h"
#include "tare/report.h"

#include "search/mixed_precision.h"
#include "simulate/quantized_constants.h"
#include "support/difference.h"
#include "support/files/digits.h"
#include "support/files/folder.h"
#include "support/files/samples_in_memory.h"
#include "support/float_sum.h"
#include "support/graphs.h"
#include "support/random/random.h"
#include "support/same_structure.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

Config blocks_of(int size, int bits = 4) {
  Config config;
  config.weights.block = size;
  config.weights.bits = bits;
  return config;
}

Graph product(const Tensor& weights, std::int64_t rows = 3) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({rows, weights.shape()[0]}));
  const ValueId w = graph.add_constant("w", weights);
  graph.set_outputs({add(graph, "MatMul", {x, w}, {rows, weights.shape()[1]})});
  return graph;
}

class WeightBlocks : public InFolder {
 protected:
  Random random_{11};
};

/// Symmetric, narrow, in 4 bits: blocks of 4 rows of one column, by a loop over each weight.
TEST_F(WeightBlocks, AreSymmetricIntegersOfTheirOwnScales) {
  constexpr std::size_t kInner = 10;  // two whole blocks and half a one
  constexpr std::size_t kColumns = 3;
  constexpr std::size_t kBlock = 4;
  const Tensor weights = random_.tensor({kInner, kColumns});
  const auto w = weights.view<float>();
  std::vector<float> rounded(w.size());
  for (std::size_t k = 0; k < kInner; ++k) {
    for (std::size_t n = 0; n < kColumns; ++n) {
      float largest = 0;
      const std::size_t first = k / kBlock * kBlock;
      for (std::size_t i = first; i < std::min(first + kBlock, kInner); ++i) {
        largest = std::max(largest, std::abs(w[i * kColumns + n]));
      }
      const float scale = largest / 7.0F;
      rounded[k * kColumns + n] = std::nearbyint(w[k * kColumns + n] / scale) * scale;
    }
  }
  const QuantizeResult result =
      quantize(product(weights), blocks_of(kBlock), Toolkit::builtin());
  const PointResult& point = result.table.at("w");
  EXPECT_EQ(point.params.scale.size(), 3 * kColumns);
  const auto [lowest, highest] = std::minmax_element(w.begin(), w.end());
  EXPECT_EQ(point.observed, (std::vector<Range>{{*lowest, *highest}}))
      << "those of all blocks would take as much memory as the integers";
  EXPECT_EQ(point.calibrated.size(), 1U);
  const Tensor x = random_.tensor({3, kInner});
  const auto y = Executable(result.integer).run(std::vector<Tensor>{x})[0].to_float();
  for (std::size_t m = 0; m < 3; ++m) {
    for (std::size_t n = 0; n < kColumns; ++n) {
      Sum sum;
      for (std::size_t k = 0; k < kInner; ++k) {
        sum.add(x.view<float>()[m * kInner + k], rounded[k * kColumns + n]);
      }
      EXPECT_NEAR(y[m * kColumns + n], sum.value, sum.bound()) << m << " " << n;
    }
  }
}

/// The rows of one matrix, of 32 each, are 100 times as large as those before.
TEST_F(WeightBlocks, LoseLessThanChannelsWhereRowsAreUnlike) {
  Tensor weights = random_.tensor({96, 16});
  const auto w = weights.mutable_view<float>();
  for (std::size_t i = 0; i < w.size(); ++i) {
    w[i] *= std::pow(100.0F, static_cast<float>(i / (32 * 16)));
  }
  const auto worst_sqnr = [&](const Config& config) {
    const QuantizeResult result = quantize(product(weights), config, Toolkit::builtin());
    const PointResult& point = result.table.at("w");
    const auto back = dequantize(quantized_weight(weights, point), point.params).to_float();
    // What the small rows are multiplied by may be large, so that each row counts alike.
    double worst = 1e9;
    for (std::size_t first = 0; first < w.size(); first += w.size() / 3) {
      worst = std::min(worst, sqnr(std::span(w).subspan(first, w.size() / 3),
                                   std::span(back).subspan(first, w.size() / 3)));
    }
    return worst;
  };
  Config channels = blocks_of(96);  // all of a column
  // Steps are a seventh of the largest of 32 evenly spread numbers: at most half of that off.
  EXPECT_GT(worst_sqnr(blocks_of(32)), 18);
  EXPECT_LT(worst_sqnr(channels), 1);  // the small rows are all 0
}

TEST_F(WeightBlocks, AreRoundedForTheErrorOfTheirProduct) {
  constexpr std::int64_t kSamples = 256;
  constexpr std::int64_t kInner = 64;
  Tensor samples(DType::kFloat32, {kSamples, 1, kInner});
  const auto x = samples.mutable_view<float>();
  for (std::size_t i = 0; i < x.size(); ++i) {  // neighbours have much in common
    const float before = i % kInner == 0 ? 0 : x[i - 1];
    x[i] = 0.9F * before + 0.3F * random_.real();
  }
  const SamplesInMemory data({{"x", samples}});
  Tensor weights = random_.tensor({kInner, 24});
  for (std::size_t i = 0; i < 16 * 24; ++i) {  // steps differ from block to block
    weights.mutable_view<float>()[i] *= 8;
  }
  Graph graph;
  const ValueId input = graph.add_input("x", f32({1, 1, kInner}));
  const ValueId w = graph.add_constant("w", weights);
  graph.set_outputs({add(graph, "MatMul", {input, w}, {1, 1, 24})});
  const auto error = [&](Rounding rounding, int threads) {
    Config config = blocks_of(16);
    config.rounding = rounding;
    const QuantizeResult result =
        quantize(graph, data, config, Toolkit::builtin(), {.threads = threads});
    double sum = 0;
    const Executable exact(graph);
    const Executable rounded(result.integer);
    for (std::size_t i = 0; i < kSamples; ++i) {
      const std::vector<Tensor> sample{data.read("x", i, 1)};
      const auto a = exact.run(sample)[0].to_float();
      const auto b = rounded.run(sample)[0].to_float();
      for (std::size_t n = 0; n < a.size(); ++n) {
        sum += std::pow(static_cast<double>(a[n]) - static_cast<double>(b[n]), 2);
      }
    }
    return sum;
  };
  const double rounded = error(Rounding::kAuto, 1);
  // Most of what rounding does to such rows lies where they have little.
  EXPECT_LT(rounded, 0.5 * error(Rounding::kNearest, 1));
  EXPECT_EQ(rounded, error(Rounding::kAuto, 3));
}

/// Two products in a row, the second of which reads what rounding left of the first, between
/// operators on integers.
Graph mixed_network(Random& random) {
  Graph graph;
  ValueId value = graph.add_input("x", f32({1, 2, 8, 8}));
  const auto conv = [&](std::int64_t from, std::int64_t to) {
    const ValueId w =
        graph.add_constant(graph.unique_name("kernel"), random.tensor({to, from, 3, 3}));
    value = add(graph, "Conv", {value, w}, {1, to, 8, 8},
                {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
    value = add(graph, "Relu", {value}, {1, to, 8, 8});
  };
  conv(2, 4);
  const ValueId m = graph.add_constant("m", random.tensor({8, 20}));
  value = add(graph, "MatMul", {value, m}, {1, 4, 8, 20});
  const ValueId n = graph.add_constant("n", random.tensor({20, 8}));
  value = add(graph, "MatMul", {value, n}, {1, 4, 8, 8});
  conv(4, 3);
  graph.set_outputs({value});
  return graph;
}

TEST_F(WeightBlocks, StandBetweenOperatorsOnIntegers) {
  const Graph graph = mixed_network(random_);
  const SamplesInMemory data({{"x", random_.tensor({40, 2, 8, 8})}});
  for (const Objective objective : {Objective::kCoverage, Objective::kSize}) {
    Config config = blocks_of(8, 8);
    config.objective = objective;
    const QuantizeResult result = quantize(graph, data, config, Toolkit::builtin());
    EXPECT_EQ(count_of(result.integer, "MatMul"), 2U);
    for (const NodeId id : result.integer.nodes()) {
      const Node& node = result.integer.node(id);
      const DType dtype = result.integer.type(node.outputs[0]).dtype;
      if (node.op == "MatMul") {
        EXPECT_EQ(dtype, DType::kFloat32) << node.name;
        EXPECT_EQ(result.integer.type(node.inputs[0]).dtype, DType::kFloat32) << node.name;
      } else if (node.op == "Conv") {
        EXPECT_EQ(dtype, DType::kInt32) << node.name;
      }
    }
    const Report report = compare_result(result, data, Toolkit::builtin());
    EXPECT_GT(report.outputs.at(0).error.sqnr.value(), 25) << print(result.integer);
  }
}

TEST_F(WeightBlocks, ReadBackFromFilesWithEveryStorage) {
  const Graph graph = mixed_network(random_);
  const SamplesInMemory data({{"x", random_.tensor({10, 2, 8, 8})}});
  for (const bool is_unsigned : {false, true}) {
    for (const int bits : {8, 4}) {
      Config config = blocks_of(6, bits);  // the last block of 20 is shorter
      config.objective = Objective::kSize;
      if (is_unsigned) {
        config.weights.storage = DType::kUint8;
        config.weights.symmetric = false;
        config.weights.narrow = false;
      }
      const QuantizeResult result = quantize(graph, data, config, Toolkit::builtin());
      const std::vector<Tensor> x{data.read("x", 3, 1)};
      for (const Form form : {Form::kQdq, Form::kQoperator}) {
        write_onnx(export_form(result.integer, form, result.simulated.target), path("q.onnx"));
        const Graph file = load_model(path("q.onnx"), {}, nullptr);
        EXPECT_EQ(file.opset, 21);
        const auto values = file.values();
        const auto packed = std::count_if(values.begin(), values.end(), [&](ValueId id) {
          return file.type(id).quant && file.type(id).quant->bits == 4 &&
                 file.type(id).shape.size() == 2 && file.constant(id)->size() == 160;
        });
        EXPECT_EQ(packed, bits == 4 && form == Form::kQdq ? 2 : 0);
        const Graph again = lower_quantized(file, {}, Toolkit::builtin());
        EXPECT_EQ(structural_difference(result.integer, again), "")
            << print(result.integer) << print(again);
        EXPECT_EQ(parse(print(again)), again);
        EXPECT_EQ(Executable(file).run(x).size(), 1U);
      }
    }
  }
}

/// ONNX Runtime would multiply integers, and other engines look for DequantizeLinear.
TEST_F(WeightBlocks, StandBesideOperandsThatLookRealWhereTheTargetWantsThat) {
  Config config = blocks_of(8);
  config.objective = Objective::kSize;
  const SamplesInMemory data({{"x", random_.tensor({10, 2, 8, 8})}});
  const QuantizeResult result =
      quantize(mixed_network(random_), data, config, Toolkit::builtin());
  const auto factors = [&](const char* target) {
    const Graph file = export_form(result.integer, Form::kQdq, read_target(target));
    std::vector<std::string> ops;
    for (const NodeId id : file.topological_order()) {
      const Node& node = file.node(id);
      if (node.op == "MatMul") {
        ops.push_back(file.node(*file.producer(node.inputs[0])).op);
      }
    }
    return ops;
  };
  EXPECT_EQ(factors("ort-cpu"), (std::vector<std::string>{"Mul", "MatMul"}));
  EXPECT_EQ(factors("tensorrt"), (std::vector<std::string>{"DequantizeLinear", "MatMul"}));
}

TEST_F(WeightBlocks, HaveNoFormOfCoreOperators) {
  const QuantizeResult result = quantize(
      mixed_network(random_),
      [] {
        Config config = blocks_of(8);
        config.activations.dynamic = true;
        return config;
      }(),
      Toolkit::builtin());
  try {
    (void)export_form(result.integer, Form::kInteger, result.simulated.target);
    FAIL() << "nothing was said";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidConfig);
    ASSERT_EQ(error.faults().size(), 2U);
    EXPECT_NE(error.faults()[0].what.find("blocks of 8"), std::string::npos);
  }
}

TEST_F(WeightBlocks, AreThoseOfTheLayersThatAskForThem) {
  const Digits digits;
  Config config;
  LayerRule rule;
  rule.op = "Gemm";
  rule.weights.block = 16;
  config.layers = {rule};
  const QuantizeResult result =
      quantize(digits.model, *digits.data, config, Toolkit::builtin());
  std::size_t blocks = 0;
  for (const QuantPoint& point : result.simulated.points) {
    blocks += point.spec.block == 16 ? 1 : 0;
    EXPECT_TRUE(point.spec.block == 0 || point.role == Role::kWeight);
  }
  EXPECT_EQ(blocks, 1U);
  EXPECT_GT(count_of(result.integer, "Requantize"), 10U);

  config.weights.block = 8;
  config.layers[0].weights.block = 0;
  const QuantizeResult none = quantize(digits.model, *digits.data, config, Toolkit::builtin());
  config.layers[0].weights.block.reset();
  config.layers[0].keep_float = true;
  const QuantizeResult real = quantize(digits.model, *digits.data, config, Toolkit::builtin());
  for (const QuantizeResult* each : {&none, &real}) {
    for (const auto& [name, point] : each->table) {
      EXPECT_EQ(point.params.block, 0) << name;
    }
  }
}

TEST_F(WeightBlocks, AreNotTriedInFloatAsTheyWereAskedFor) {
  const Digits digits;
  const Config config = blocks_of(16);
  const QuantizeResult result =
      quantize(digits.model, *digits.data, config, Toolkit::builtin());
  const auto points =
      affordable_points(result.simulated, config, Toolkit::builtin().patterns, 1);
  EXPECT_FALSE(points.empty());
  for (const std::string& point : points) {
    EXPECT_EQ(result.simulated.find(point)->spec.block, 0) << point;
  }
}

TEST_F(WeightBlocks, AreNotAskedOfOtherOperators) {
  Config config;
  for (const char* op : {"Conv", "Gemm", "ConvTranspose"}) {
    LayerRule rule;
    rule.op = op;
    rule.if_present = true;
    rule.weights.block = 16;
    config.layers.push_back(rule);
  }
  try {
    (void)quantize(product(random_.tensor({8, 4})), config, Toolkit::builtin());
    FAIL() << "nothing was said";
  } catch (const Error& error) {
    ASSERT_EQ(error.faults().size(), 2U);
    EXPECT_EQ(error.faults()[0].where, "layers[0].weights.block");
    EXPECT_EQ(error.faults()[1].where, "layers[2].weights.block");
  }
}

TEST_F(WeightBlocks, AreKeptByATable) {
  const Digits digits;
  const Config config = blocks_of(16);
  const QuantizeResult result =
      quantize(digits.model, *digits.data, config, Toolkit::builtin());
  write_table(path("table.yaml"), result);
  const TableFile table(path("table.yaml"));
  EXPECT_EQ(quantize(digits.model, table, config, Toolkit::builtin()).integer, result.integer);
  EXPECT_THROW(quantize(digits.model, table, blocks_of(8), Toolkit::builtin()), Error);
  EXPECT_THROW(quantize(digits.model, table, {}, Toolkit::builtin()), Error);
}

TEST_F(WeightBlocks, AreExplainedAndReported) {
  const Digits digits;
  const QuantizeResult result =
      quantize(digits.model, *digits.data, blocks_of(16), Toolkit::builtin());
  std::size_t products = 0;
  for (const Verdict& verdict : verdicts(result.simulated)) {
    if (verdict.op == "Gemm") {
      ++products;
      EXPECT_EQ(verdict.because,
                "its weights are in blocks of 16, whose products are added up in float");
    }
  }
  EXPECT_EQ(products, 1U);
  const Report report = compare_result(result, *digits.data, Toolkit::builtin());
  const auto gemm = std::find_if(report.layers.begin(), report.layers.end(),
                                 [](const LayerReport& layer) { return layer.op == "Gemm"; });
  ASSERT_NE(gemm, report.layers.end());
  ASSERT_TRUE(gemm->weight);
  EXPECT_EQ(gemm->weight->block, 16);
  // Rounding to 15 evenly spread values.
  EXPECT_GT(gemm->weight->sqnr.value(), 15);
  for (const ChannelReport& channel : gemm->weight->channels) {
    // Ends of ranges may be cut by up to a half.
    const double whole = std::max(-channel.low, channel.high) / 7;
    EXPECT_LE(channel.scale, whole + 1e-6);
    EXPECT_GE(channel.scale, whole / 2 - 1e-6);
  }
  EXPECT_TRUE(lint(export_form(result.integer, Form::kQdq, result.simulated.target),
                   result.simulated.target)
                  .empty());
}

}  // namespace
}  // namespace tare::test
