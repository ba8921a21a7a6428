// Products whose operand is quantized while the network runs, in ONNX Runtime.
#include "tare/config.h"
#include "tare/execute.h"
#include "tare/integer_graph.h"
#include "tare/model_files.h"
#include "tare/quantize.h"

#include "raw_samples.h"
#include "support/files/samples_in_memory.h"
#include "support/graphs.h"
#include "support/random/random.h"
#include "with_onnxruntime.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using DynamicProducts = WithOnnxRuntime;

TEST_F(DynamicProducts, AreOneKernelThatComputesTheSame) {
  Random random(5);
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 6, 48}));
  const ValueId product =
      add(graph, "MatMul", {x, graph.add_constant("w", random.tensor({48, 32}))}, {1, 6, 32});
  const ValueId shape = graph.add_constant("shape", Tensor::of<std::int64_t>({2}, {6, 32}));
  const ValueId rows = add(graph, "Reshape", {product, shape}, {6, 32});
  graph.set_outputs({add(graph, "Gemm",
                         {rows, graph.add_constant("v", random.tensor({20, 32})),
                          graph.add_constant("b", random.tensor({20}))},
                         {6, 20}, {{"transB", std::int64_t{1}}})});
  const Tensor samples = random.tensor({1, 6, 48});
  const SamplesInMemory data({{"x", samples}});
  for (const int bits : {8, 4}) {
    Config config;
    config.activations.dynamic = true;
    config.weights.bits = bits;
    const Graph integer = quantize(graph, config, Toolkit::builtin()).integer;
    const auto file = folder_ / "model.onnx";
    write_onnx(export_form(integer, Form::kQdq, read_target(config.target)), file);
    EXPECT_EQ(runtime_->kernels(file).at("DynamicQuantizeMatMul"), 2) << bits;

    const auto theirs = runtime_->run(file, write_raw_samples(integer, data, 0, folder_),
                                      folder_ / "outputs")[0];
    const auto ours = Executable(integer).run(std::vector<Tensor>{samples})[0].to_float();
    // The second product rounds what the first one computed: where that differs in its last
    // bit, a step of the operand may fall to the other side, 1/255 of a range, times a weight.
    double squares = 0;
    double differences = 0;
    for (std::size_t i = 0; i < ours.size(); ++i) {
      squares += ours[i] * ours[i];
      differences += (ours[i] - theirs[i]) * (ours[i] - theirs[i]);
    }
    EXPECT_LE(differences, 1e-6 * squares) << bits;
  }
}

TEST_F(DynamicProducts, ConvolveWithAnyNumberOfBits) {
  Random random(6);
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 4, 9, 9}));
  graph.set_outputs({add(graph, "Conv",
                         {x, graph.add_constant("w", random.tensor({6, 4, 3, 3})),
                          graph.add_constant("b", random.tensor({6}))},
                         {1, 6, 7, 7})});
  const Tensor samples = random.tensor({1, 4, 9, 9});
  const SamplesInMemory data({{"x", samples}});
  for (const int bits : {8, 4}) {
    Config config;
    config.activations.dynamic = true;
    config.objective = Objective::kCoverage;  // it is slower than in float
    config.weights.bits = bits;
    const Graph integer = quantize(graph, config, Toolkit::builtin()).integer;
    ASSERT_EQ(count_of(integer, "ConvInteger"), 1U);
    const auto file = folder_ / "model.onnx";
    write_onnx(export_form(integer, Form::kQdq, read_target(config.target)), file);
    const auto theirs = runtime_->run(file, write_raw_samples(integer, data, 0, folder_),
                                      folder_ / "outputs")[0];
    const auto ours = Executable(integer).run(std::vector<Tensor>{samples})[0].to_float();
    ASSERT_EQ(theirs.size(), ours.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      // The sums are the same integers; a product and a sum of floats follow.
      EXPECT_NEAR(theirs[i], ours[i], 1e-5F) << bits << " " << i;
    }
  }
}

}  // namespace
}  // namespace tare::test
