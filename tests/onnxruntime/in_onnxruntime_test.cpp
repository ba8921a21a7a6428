// What a real ONNX Runtime says of the float graphs we run and of the files we write.

#include "tare/config.h"
#include "tare/integer_graph.h"
#include "tare/model_files.h"
#include "tare/quantize.h"
#include "tare/simulate.h"

#include "graph/ir/subgraph.h"
#include "lower/forms/forms.h"
#include "raw_samples.h"
#include "support/config.h"
#include "support/files/models.h"
#include "support/files/samples_in_memory.h"
#include "support/same_structure.h"
#include "with_onnxruntime.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

namespace fs = std::filesystem;

class InOnnxRuntime : public WithOnnxRuntime, public ::testing::WithParamInterface<TestModel> {
 protected:
  void SetUp() override {
    WithOnnxRuntime::SetUp();
    evaluation_ = open_dataset(GetParam().evaluation);
    model_ = load_model(GetParam().model, {}, evaluation_.get());
  }

  /// Outputs of our own executor, as ONNX Runtime gives them.
  std::vector<std::vector<float>> ours(const Graph& graph) const {
    return ours(graph, *evaluation_);
  }
  static std::vector<std::vector<float>> ours(const Graph& graph, const Dataset& samples) {
    std::vector<std::vector<float>> outputs(graph.outputs().size());
    run_dataset(graph, samples, 2, kSamples, [&](std::size_t, std::vector<Tensor> results) {
      for (std::size_t i = 0; i < results.size(); ++i) {
        const std::vector<float> values = results[i].to_float();
        outputs[i].insert(outputs[i].end(), values.begin(), values.end());
      }
    });
    return outputs;
  }
  std::vector<std::vector<float>> theirs(const fs::path& file) const {
    return runtime_->run(file, write_raw_samples(model_, *evaluation_, kSamples, folder_),
                         folder_ / "outputs");
  }

  static constexpr std::size_t kSamples = 16;
  std::unique_ptr<Dataset> evaluation_;
  Graph model_;
};

TEST_P(InOnnxRuntime, FloatOutputsEqualOnnxRuntimes) {
  const auto a = ours(prepare(model_, Toolkit::builtin()));
  const auto b = theirs(GetParam().model);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].size(), b[i].size());
    float largest = 0;
    float apart = 0;
    for (std::size_t k = 0; k < a[i].size(); ++k) {
      largest = std::max(largest, std::abs(b[i][k]));
      apart = std::max(apart, std::abs(a[i][k] - b[i][k]));
    }
    // Float rounding through a few dozen layers.
    EXPECT_LE(apart, 1e-4F * largest);
  }
}

/// Storage values closest to the outputs: the last ones in topological order.
ValueId last_storage(const Graph& graph) {
  ValueId last;
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    const auto& quant = graph.type(node.outputs[0]).quant;
    if (quant && quant->storage != DType::kInt32) {
      last = node.outputs[0];
    }
  }
  return last;
}

/// Share of numbers that are more than a step apart.
double share_beyond_a_step(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  std::size_t beyond = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    beyond += std::abs(a[i] - b[i]) > 1 ? 1 : 0;
  }
  return static_cast<double>(beyond) / static_cast<double>(a.size());
}

/// Integers that ONNX Runtime gives as real numbers, of all samples.
Tensor integers(const TensorType& type, const std::vector<float>& values) {
  Shape shape = type.shape;
  shape[0] = static_cast<std::int64_t>(values.size()) /
             (element_count(type.shape) / std::max<std::int64_t>(type.shape[0], 1));
  if (type.dtype == DType::kInt8) {
    return Tensor::of<std::int8_t>(shape, {values.begin(), values.end()});
  }
  EXPECT_EQ(type.dtype, DType::kUint8);
  return Tensor::of<std::uint8_t>(shape, {values.begin(), values.end()});
}

/// Every tenth storage value, and the last one.
std::vector<ValueId> some_storage(const Graph& graph) {
  constexpr std::size_t kApart = 10;
  const ValueId last = last_storage(graph);
  std::vector<ValueId> result;
  std::size_t count = 0;
  for (const NodeId id : graph.topological_order()) {
    const ValueId value = graph.node(id).outputs[0];
    const auto& quant = graph.type(value).quant;
    if (value != last && quant && size_of(quant->storage) == 1 && ++count % kApart == 0) {
      result.push_back(value);
    }
  }
  result.push_back(last);
  return result;
}

TEST_P(InOnnxRuntime, RunsTheIntegerGraphAsOurExecutorDoesInEveryForm) {
  const auto calibration = open_dataset(GetParam().calibration);
  // Behind float layers, whose last bits are each engine's own, a few values would be rounded
  // to another step, and what follows from these would differ everywhere; see below.
  Config config;
  config.slowdown = 0;
  QuantizeResult q =
      quantize(model_, *calibration, config, Toolkit::builtin(), {.samples = 64});
  Graph& integer = q.integer;
  // In a deep network a single value of a million that is rounded to another step would be
  // enough for that. So ours goes on from ONNX Runtime's integers after every few layers.
  const std::vector<ValueId> results = some_storage(integer);
  integer.set_outputs(results);
  integer.erase_unused();
  Graph parts = integer;
  std::vector<std::string> handed_over;
  for (const ValueId value : std::span(results).first(results.size() - 1)) {
    handed_over.push_back(integer.name(value) + "_handed_over");
    parts.replace_uses(value, parts.add_input(handed_over.back(), integer.type(value)));
  }
  parts.set_outputs(results);
  for (const Form form : {Form::kQdq, Form::kQoperator, Form::kInteger}) {
    const fs::path file = folder_ / "storage.onnx";
    write_onnx(export_form(integer, form, q.simulated.target), file);
    const auto b = theirs(file);
    std::map<std::string, Tensor> samples;
    for (const ValueId input : integer.inputs()) {
      const std::string& name = integer.name(input);
      samples.emplace(name, evaluation_->read(name, 0, kSamples));
    }
    for (std::size_t i = 0; i < handed_over.size(); ++i) {
      samples.emplace(handed_over[i], integers(integer.type(results[i]), b[i]));
    }
    const auto a = ours(parts, SamplesInMemory(std::move(samples)));
    for (std::size_t i = 0; i < results.size(); ++i) {
      EXPECT_LE(share_beyond_a_step(a[i], b[i]), 0.001)
          << integer.name(results[i]) << " in form " << static_cast<int>(form);
    }
  }
}

/// Where layers in float hand over to integers.
std::vector<ValueId> quantized_behind_float(const Graph& graph) {
  std::vector<ValueId> result;
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    const auto& inputs = graph.inputs();
    if (node.op == "Quantize" &&
        std::find(inputs.begin(), inputs.end(), node.inputs[0]) == inputs.end()) {
      result.push_back(node.outputs[0]);
    }
  }
  return result;
}

TEST_P(InOnnxRuntime, RunsIntegerLayersBehindThoseInFloatAsOurExecutorDoesInEveryForm) {
  const auto calibration = open_dataset(GetParam().calibration);
  QuantizeResult q = quantize(model_, *calibration, {}, Toolkit::builtin(), {.samples = 64});
  Graph& integer = q.integer;
  const ValueId last = last_storage(integer);
  const std::vector<ValueId> handed_over = quantized_behind_float(integer);
  if (std::find(handed_over.begin(), handed_over.end(), last) != handed_over.end()) {
    GTEST_SKIP() << "every layer gives real numbers";
  }
  std::vector<ValueId> outputs = handed_over;
  outputs.push_back(last);
  integer.set_outputs(outputs);
  integer.erase_unused();
  Subgraph behind = subgraph(integer, handed_over, {&last, 1});
  behind.graph.set_outputs({behind.values.at(last)});
  for (const Form form : {Form::kQdq, Form::kQoperator, Form::kInteger}) {
    const fs::path file = folder_ / "storage.onnx";
    write_onnx(export_form(integer, form, q.simulated.target), file);
    const auto b = theirs(file);
    std::map<std::string, Tensor> samples;
    for (const ValueId input : behind.inputs) {
      const auto found = std::find(handed_over.begin(), handed_over.end(), input);
      const auto place = static_cast<std::size_t>(found - handed_over.begin());
      samples.emplace(integer.name(input),
                      found == handed_over.end()
                          ? evaluation_->read(integer.name(input), 0, kSamples)
                          : integers(integer.type(input), b[place]));
    }
    const auto a = ours(behind.graph, SamplesInMemory(std::move(samples)));
    EXPECT_LE(share_beyond_a_step(a[0], b.back()), 0.001)
        << integer.name(last) << " in form " << static_cast<int>(form);
  }
}

TEST_P(InOnnxRuntime, RunsActivationsOf16BitsAsOurExecutorDoes) {
  const auto calibration = open_dataset(GetParam().calibration);
  for (const char* storage : {"int16", "uint16"}) {
    const Config config =
        config_with({std::string("activations.storage=") + storage, "accuracy.effort=fast"});
    const QuantizeResult q =
        quantize(model_, *calibration, config, Toolkit::builtin(), {.samples = 16});
    const auto a = ours(q.integer);
    for (const Form form : {Form::kQdq, Form::kQoperator, Form::kInteger}) {
      const fs::path file = folder_ / "wide.onnx";
      write_onnx(export_form(q.integer, form, q.simulated.target), file);
      const auto b = theirs(file);
      // Float sums are rounded where ours are exact, so that some values are a step of 2^-16 of
      // their range off: 90 dB and more below them, and less by what the layers behind add.
      EXPECT_LT(relative_error(a[0], b[0]), 1e-6)
          << storage << " in form " << static_cast<int>(form);
    }
  }
}

TEST_P(InOnnxRuntime, RunsWeightsOfFourBitsAsThoseOfEight) {
  const auto calibration = open_dataset(GetParam().calibration);
  const Config config =
      config_with({"weights.bits=4", "weights.packed=true", "accuracy.effort=fast"});
  const QuantizeResult q =
      quantize(model_, *calibration, config, Toolkit::builtin(), {.samples = 16});
  const fs::path halves = folder_ / "halves.onnx";
  const fs::path bytes = folder_ / "bytes.onnx";
  write_onnx(export_form(q.integer, Form::kQdq, q.simulated.target), halves);
  write_onnx(export_form(q.integer, Form::kQdq, read_target("ort-cpu")), bytes);
  EXPECT_LT(fs::file_size(halves), fs::file_size(bytes));
  const auto a = theirs(bytes);
  const auto b = theirs(halves);
  // One runs integer kernels, the other float ones between conversions: values that lie on
  // halves fall a step of 8 bits apart, and layers behind them make more of it.
  EXPECT_LT(relative_error(a[0], b[0]), 0.01);
}

TEST_P(InOnnxRuntime, RunsWeightsInBlocksAsOurExecutorDoes) {
  const auto calibration = open_dataset(GetParam().calibration);
  for (const char* packed : {"weights.packed=true", "weights.packed=false"}) {
    const Config config =
        config_with({"weights.bits=4", "weights.block=32", "accuracy.effort=fast", packed});
    const QuantizeResult q =
        quantize(model_, *calibration, config, Toolkit::builtin(), {.samples = 16});
    const fs::path file = folder_ / "blocks.onnx";
    write_onnx(export_form(q.integer, Form::kQdq, q.simulated.target), file);
    const auto a = ours(q.integer);
    const auto b = theirs(file);
    // Float products end in each engine's own last bits, so that values which lie on halves
    // fall a step of 8 bits apart, and layers behind them make more of it.
    EXPECT_LT(relative_error(a[0], b[0]), 0.01) << packed;
  }
}

TEST_P(InOnnxRuntime, EveryFormReadsBackToTheIntegerGraph) {
  const auto calibration = open_dataset(GetParam().calibration);
  const QuantizeResult q =
      quantize(model_, *calibration, {}, Toolkit::builtin(), {.samples = 4});
  for (const Form form : {Form::kQdq, Form::kQoperator, Form::kInteger}) {
    const fs::path file = folder_ / "model.int8.onnx";
    write_onnx(export_form(q.integer, form, q.simulated.target), file);
    const Graph again = lower_quantized(load_model(file, {}, nullptr), {}, Toolkit::builtin());
    EXPECT_EQ(structural_difference(q.integer, again), "")
        << "in form " << static_cast<int>(form);
  }
}

TEST_P(InOnnxRuntime, EveryQuantizedOperatorRunsAsAnIntegerKernel) {
  const auto calibration = open_dataset(GetParam().calibration);
  const QuantizeResult q =
      quantize(model_, *calibration, {}, Toolkit::builtin(), {.samples = 16});
  const fs::path file = folder_ / "model.int8.onnx";
  write_onnx(to_qdq(q.integer), file);
  const std::map<std::string, int> kernels = runtime_->kernels(file);
  const auto is_product = [&](NodeId id) {
    const std::string& op = q.prepared.node(id).op;
    return op == "Conv" || op == "Gemm" || op == "MatMul";
  };
  const std::vector<NodeId> nodes = q.prepared.topological_order();
  const auto all = std::count_if(nodes.begin(), nodes.end(), is_product);
  std::ptrdiff_t products = 0;
  for (const Region& region : q.simulated.regions) {
    const auto& matched = region.match.nodes();
    products += std::count_if(matched.begin(), matched.end(), is_product);
  }
  const auto count = [&](const std::vector<const char*>& names) {
    int sum = 0;
    for (const char* name : names) {
      const auto found = kernels.find(name);
      sum += found == kernels.end() ? 0 : found->second;
    }
    return sum;
  };
  EXPECT_EQ(count({"QLinearConv", "QGemm", "QLinearMatMul", "MatMulIntegerToFloat"}), products);
  EXPECT_EQ(count({"Conv", "FusedConv", "Gemm", "FusedGemm", "MatMul", "FusedMatMul"}),
            all - products);
}

INSTANTIATE_TEST_SUITE_P(Models, InOnnxRuntime, ::testing::ValuesIn(test_models()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tare::test
