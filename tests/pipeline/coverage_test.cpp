// A block of a transformer on a target that has nothing in float.
#include "tare/config.h"
#include "tare/execute.h"
#include "tare/quantize.h"

#include "lower/lower.h"
#include "support/config.h"
#include "support/files/folder.h"
#include "support/files/samples_in_memory.h"
#include "support/graphs.h"
#include "support/random/random.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using CoveredTransformer = InFolder;

/// Attention with a division of its scores, and a Gelu, each between normalizations; opset 17.
Graph block() {
  Random random(11);
  Graph graph;
  graph.graph_name = "block";
  const Shape rows{1, 6, 8};
  const auto matrix = [&](const char* name) {
    return graph.add_constant(name, random.tensor({8, 8}));
  };
  const auto norm = [&](const char* name, ValueId x) {
    const ValueId scale = graph.add_constant(std::string(name) + "_scale", random.tensor({8}));
    const ValueId shift = graph.add_constant(std::string(name) + "_shift", random.tensor({8}));
    return add(graph, "LayerNormalization", {x, scale, shift}, rows,
               {{"axis", std::int64_t{-1}}});
  };
  const ValueId x = graph.add_input("x", f32(rows));
  const ValueId first = norm("first", x);
  const ValueId q = add(graph, "MatMul", {first, matrix("q")}, rows);
  const ValueId k = add(graph, "MatMul", {first, matrix("k")}, rows);
  const ValueId v = add(graph, "MatMul", {first, matrix("v")}, rows);
  const ValueId keys =
      add(graph, "Transpose", {k}, {1, 8, 6}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
  const ValueId scores = add(graph, "MatMul", {q, keys}, {1, 6, 6});
  const ValueId root = graph.add_constant("root", Tensor::scalar(2.828427F));
  const ValueId scaled = add(graph, "Div", {scores, root}, {1, 6, 6});
  const ValueId weights =
      add(graph, "Softmax", {scaled}, {1, 6, 6}, {{"axis", std::int64_t{-1}}});
  const ValueId attended = add(graph, "MatMul", {weights, v}, rows);
  const ValueId sum = add(graph, "Add", {x, attended}, rows);
  const ValueId hidden = add(graph, "MatMul", {norm("second", sum), matrix("up")}, rows);
  const ValueId gelu = add(graph, "Gelu", {hidden}, rows);
  graph.set_outputs({add(graph, "MatMul", {gelu, matrix("down")}, rows)});
  return graph;
}

double sqnr(const Tensor& reference, const Tensor& other) {
  const std::vector<float> a = reference.to_float();
  const std::vector<float> b = other.to_float();
  double signal = 0;
  double noise = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    signal += static_cast<double>(a[i]) * static_cast<double>(a[i]);
    noise += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
  }
  return 10 * std::log10(signal / noise);
}

TEST_F(CoveredTransformer, HasNoFloatOperatorAndFallsShortByLittle) {
  Random random(12);
  const SamplesInMemory data({{"x", random.tensor({40, 6, 8})}});
  const Config config = config_with({"target=qnn", "fallback=forbid"});
  const QuantizeResult result = quantize(block(), data, config, Toolkit::builtin());
  EXPECT_TRUE(float_operators(result.integer).empty());
  const OperatorCount count = count_operators(result.verdicts);
  EXPECT_EQ(count.on_integers, count.all);
  // Eight bits behind each of its fourteen operators: rounding alone leaves about 50 dB less
  // 10 log10(14), and ranges that nobody uses up some of the rest.
  EXPECT_GT(sqnr(Executable(block()).run(std::vector<Tensor>{data.read("x", 39, 1)})[0],
                 Executable(result.integer).run(std::vector<Tensor>{data.read("x", 39, 1)})[0]),
            20);
}

TEST_F(CoveredTransformer, KeepsItsOperatorsWholeInFiles) {
  Random random(12);
  const SamplesInMemory data({{"x", random.tensor({8, 6, 8})}});
  for (const char* bits : {"auto", "6"}) {  // which a Clip cuts off in the file
    const Config config = config_with({"target=qnn", std::string("activations.bits=") + bits});
    const QuantizeResult result = quantize(block(), data, config, Toolkit::builtin());
    const OperatorCount count = count_operators(result.verdicts);
    EXPECT_EQ(count.on_integers, count.all) << bits;
    write_model(result, path("q.onnx"));
    const Graph file = load_model(path("q.onnx"), {}, nullptr);
    EXPECT_EQ(count_of(file, "Gelu"), 1U) << bits;
    EXPECT_EQ(count_of(file, "Erf"), 0U) << bits;
    const Graph again = lower_quantized(file, {}, Toolkit::builtin());
    const std::vector<Tensor> x{data.read("x", 0, 1)};
    EXPECT_EQ(Executable(again).run(x), Executable(result.integer).run(x)) << bits;
  }
}

}  // namespace
}  // namespace tare::test
