// Products with weights in blocks, in ONNX Runtime.
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

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

class WeightBlocksThere : public WithOnnxRuntime {
 protected:
  /// A product of the weights, a Relu or Sigmoid and a dense layer, of six rows. A Relu behind
  /// a product keeps ONNX Runtime from its kernel for such weights.
  Graph network(std::int64_t inner, const std::string& activation) {
    Graph graph;
    const ValueId x = graph.add_input("x", f32({1, 6, inner}));
    const ValueId w = graph.add_constant("w", random_.tensor({inner, 32}));
    const ValueId product = add(graph, "MatMul", {x, w}, {1, 6, 32});
    const ValueId bent = add(graph, activation, {product}, {1, 6, 32});
    const ValueId shape = graph.add_constant("shape", Tensor::of<std::int64_t>({2}, {6, 32}));
    const ValueId rows = add(graph, "Reshape", {bent, shape}, {6, 32});
    graph.set_outputs({add(graph, "Gemm",
                           {rows, graph.add_constant("v", random_.tensor({20, 32})),
                            graph.add_constant("b", random_.tensor({20}))},
                           {6, 20}, {{"transB", std::int64_t{1}}})});
    return graph;
  }

  /// Of our executor and of ONNX Runtime, as a file in that form is run: squares of
  /// differences, as a share of those of the results.
  double apart(const Graph& integer, Form form, const Target& target) {
    const auto file = folder_ / "model.onnx";
    write_onnx(export_form(integer, form, target), file);
    const Tensor sample = random_.tensor(integer.type(integer.inputs()[0]).shape);
    const SamplesInMemory data({{"x", sample}});
    const auto theirs = runtime_->run(file, write_raw_samples(integer, data, 0, folder_),
                                      folder_ / "outputs")[0];
    const auto ours = Executable(integer).run(std::vector<Tensor>{sample})[0].to_float();
    return relative_error(ours, theirs);
  }

  /// Sums of fifty products in float32.
  static constexpr double kRounding = 1e-11;
  /// MatMulNBits rounds its operand to 8 bits by itself, within half a step of 1/127 of each
  /// block's largest value, unless the session says session.qdq_matmulnbits_accuracy_level=1.
  static constexpr double kBytes = 1e-3;

  Random random_{5};
};

TEST_F(WeightBlocksThere, AreTheSameNumbers) {
  // Of 40 the last block is shorter.
  for (const auto& [inner, activation] : {std::pair<std::int64_t, std::string>(64, "Relu"),
                                          {40, "Relu"},
                                          {64, "Sigmoid"},
                                          {40, "Sigmoid"}}) {
    const Graph graph = network(inner, activation);
    for (const int bits : {4, 8}) {
      for (const bool is_unsigned : {false, true}) {
        Config config;
        config.weights.block = 16;
        config.weights.bits = bits;
        if (is_unsigned) {
          config.weights.storage = DType::kUint8;
          config.weights.symmetric = false;
          config.weights.narrow = false;
        }
        const QuantizeResult result = quantize(graph, config, Toolkit::builtin());
        for (const Form form : {Form::kQdq, Form::kQoperator}) {
          EXPECT_LT(apart(result.integer, form, result.simulated.target),
                    activation == "Relu" ? kRounding : kBytes)
              << activation << " " << inner << " " << bits << " " << is_unsigned;
        }
      }
    }
  }
}

/// What it reads is rounded to bytes for another reader, so both factors come from integers.
TEST_F(WeightBlocksThere, AreNoFactorsOfIntegerKernels) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 48, 8, 8}));
  const ValueId image =
      add(graph, "Conv", {x, graph.add_constant("kernel", random_.tensor({48, 48, 3, 3}))},
          {1, 48, 8, 8}, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
  const ValueId bent = add(graph, "Relu", {image}, {1, 48, 8, 8});
  const ValueId product = add(
      graph, "MatMul", {bent, graph.add_constant("w", random_.tensor({8, 8}))}, {1, 48, 8, 8});
  const ValueId other =
      add(graph, "Conv", {bent, graph.add_constant("other", random_.tensor({48, 48, 3, 3}))},
          {1, 48, 8, 8}, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
  graph.set_outputs({product, other});
  const SamplesInMemory data({{"x", random_.tensor({8, 48, 8, 8})}});
  for (const int bits : {4, 8}) {
    Config config;
    config.objective = Objective::kSize;
    config.weights.block = 4;
    LayerRule rule;
    rule.op = "MatMul";
    rule.weights.bits = bits;
    config.layers = {rule};
    const QuantizeResult result = quantize(graph, data, config, Toolkit::builtin());
    EXPECT_EQ(result.simulated.regions.size(), 3U);
    // Where floats differ in their last bits some values of 8 bits fall to the other side.
    EXPECT_LT(apart(result.integer, Form::kQdq, result.simulated.target), kBytes) << bits;
  }
}

TEST_F(WeightBlocksThere, AreAnOperatorOfItsOwnInTheFormOfOperators) {
  for (const int bits : {2, 4, 8}) {
    for (const bool is_unsigned : {false, true}) {
      Config config;
      config.weights.block = 16;
      config.weights.bits = bits;
      config.block_accuracy_level = 1;
      if (is_unsigned) {
        config.weights.storage = DType::kUint8;
        config.weights.symmetric = false;
        config.weights.narrow = false;
      }
      // Of 40 rows the last block is shorter.
      const QuantizeResult result =
          quantize(network(40, "Sigmoid"), config, Toolkit::builtin());
      EXPECT_LT(apart(result.integer, Form::kQoperator, result.simulated.target), kRounding)
          << bits << " " << is_unsigned;
      EXPECT_EQ(runtime_->kernels(folder_ / "model.onnx").at("MatMulNBits"), 2)
          << "of the MatMul and the Gemm behind it";
    }
  }
}

TEST_F(WeightBlocksThere, AreOneKernelWhereTheyLieInHalvesOfBytes) {
  Config config;
  config.weights.block = 16;
  config.weights.bits = 4;
  const QuantizeResult result = quantize(network(64, "Sigmoid"), config, Toolkit::builtin());
  const auto file = folder_ / "model.onnx";
  write_onnx(export_form(result.integer, Form::kQdq, result.simulated.target), file);
  EXPECT_EQ(runtime_->kernels(file).at("MatMulNBits"), 1);
}

}  // namespace
}  // namespace tare::test
