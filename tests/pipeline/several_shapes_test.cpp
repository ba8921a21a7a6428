// Samples of several shapes: sentences and recordings of their own length, each run at its own.
#include "tare/config.h"
#include "tare/execute.h"
#include "tare/graph.h"
#include "tare/model_files.h"
#include "tare/quantize.h"
#include "tare/report.h"
#include "tare/statistics.h"
#include "tare/toolkit.h"

#include "support/files/samples_in_memory.h"
#include "support/files/temporary_folder.h"
#include "support/message.h"
#include "support/tensors.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Rows of an input called x, each of its own shape.
class OfTheirOwnShapes final : public Dataset {
 public:
  explicit OfTheirOwnShapes(std::vector<Tensor> samples) : samples_(std::move(samples)) {
    const auto& largest =
        *std::max_element(samples_.begin(), samples_.end(),
                          [](const Tensor& a, const Tensor& b) { return a.size() < b.size(); });
    inputs_ = {{.name = "x", .dtype = DType::kFloat32, .shape = largest.shape()}};
  }

  std::size_t size() const override { return samples_.size(); }
  const std::vector<DatasetInput>& inputs() const override { return inputs_; }
  bool has_several_shapes() const override { return true; }
  Tensor read(const std::string&, std::size_t first, std::size_t count) const override {
    EXPECT_EQ(count, 1U) << "samples of several shapes are read one by one";
    Shape shape = samples_.at(first).shape();
    shape.insert(shape.begin(), 1);
    return samples_.at(first).reshaped(std::move(shape));
  }
  std::optional<std::vector<std::int64_t>> labels() const override { return std::nullopt; }

 private:
  std::vector<Tensor> samples_;
  std::vector<DatasetInput> inputs_;
};

Graph sentences() {
  Graph graph;
  const auto f32 = [](Shape shape) {
    return TensorType{
        .dtype = DType::kFloat32, .shape = std::move(shape), .quant = {}, .point = {}};
  };
  const auto node = [&](const std::string& op, std::vector<ValueId> inputs, Shape shape,
                        Attributes attributes = {}) {
    const std::string name = graph.unique_name(op);
    const NodeId id = graph.add_node(name, op, std::move(inputs),
                                     {{name, f32(std::move(shape))}}, std::move(attributes));
    return graph.node(id).outputs[0];
  };
  using Integers = std::vector<std::int64_t>;
  const auto weight = [&](const Shape& shape, unsigned seed) {
    return graph.add_constant(graph.unique_name("w"), normal_tensor(shape, seed));
  };
  const auto target = [&](const Integers& extents) {
    return graph.add_constant(graph.unique_name("target"),
                              Tensor::of({static_cast<std::int64_t>(extents.size())}, extents));
  };
  const ValueId x = graph.add_input("x", f32({1, 6, 32}));
  const ValueId q = node("MatMul", {x, weight({32, 32}, 1)}, {1, 6, 32});
  const ValueId k = node("MatMul", {x, weight({32, 32}, 2)}, {1, 6, 32});
  const ValueId split = target({0, 0, 4, 8});
  const ValueId qs = node("Transpose", {node("Reshape", {q, split}, {1, 6, 4, 8})},
                          {1, 4, 6, 8}, {{"perm", Integers{0, 2, 1, 3}}});
  const ValueId ks = node("Transpose", {node("Reshape", {k, split}, {1, 6, 4, 8})},
                          {1, 4, 8, 6}, {{"perm", Integers{0, 2, 3, 1}}});
  const ValueId shares = node("Softmax", {node("MatMul", {qs, ks}, {1, 4, 6, 6})}, {1, 4, 6, 6},
                              {{"axis", std::int64_t{-1}}});
  const ValueId sums = node("Transpose", {node("MatMul", {shares, qs}, {1, 4, 6, 8})},
                            {1, 6, 4, 8}, {{"perm", Integers{0, 2, 1, 3}}});
  const ValueId flat = node("Reshape", {sums, target({0, 0, 32})}, {1, 6, 32});
  const ValueId hidden =
      node("Relu", {node("MatMul", {flat, weight({32, 64}, 3)}, {1, 6, 64})}, {1, 6, 64});
  const ValueId y = node("MatMul", {hidden, weight({64, 8}, 4)}, {1, 6, 8});
  graph.set_outputs({y});
  graph.dimension_names["x"] = {"N", "length", ""};
  return graph;
}

/// A constant with values of a normal distribution, as a line of text.
std::string constant(const std::string& name, const Shape& shape, unsigned seed) {
  std::string text;
  const Tensor values = normal_tensor(shape, seed);
  for (const float value : values.view<float>()) {
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  }
  return "  const %" + name + " : f32" + to_string(shape) + " = [" + text + "]\n";
}

/// Images of any size.
Graph images() {
  return parse("graph \"images\" opset 17 (%x : f32[N=1,3,height=9,width=8]) -> (%y) {\n" +
               constant("w1", {4, 3, 3, 3}, 1) + constant("w2", {8, 4, 3, 3}, 2) +
               R"(  %a = Conv(%x, %w1) {pads=[1, 1, 1, 1], strides=[1, 1]} : f32[1,4,9,8]
  %b = Relu(%a) : f32[1,4,9,8]
  %c = Conv(%b, %w2) {pads=[1, 1, 1, 1], strides=[2, 2]} : f32[1,8,5,4]
  %y = Relu(%c) : f32[1,8,5,4]
}
)");
}

/// A small image grows to the size of a large one, whose shape is asked for inside.
Graph pyramid() {
  return parse("graph \"pyramid\" opset 17 (%x : f32[N=1,3,height=18,width=16]) -> (%y) {\n" +
               constant("w1", {4, 3, 3, 3}, 1) + constant("w2", {4, 4, 3, 3}, 2) +
               constant("w3", {4, 4, 3, 3}, 3) + R"(  const %zero : i64[1] = [0]
  const %two : i64[1] = [2]
  const %four : i64[1] = [4]
  %a = Conv(%x, %w1) {pads=[1, 1, 1, 1], strides=[2, 2]} : f32[1,4,9,8]
  %large = Relu(%a) : f32[1,4,9,8]
  %b = Conv(%large, %w2) {pads=[1, 1, 1, 1], strides=[2, 2]} : f32[1,4,5,4]
  %small = Relu(%b) : f32[1,4,5,4]
  %of_large = Shape(%large) : i64[4]
  %area = Slice(%of_large, %two, %four, %zero) : i64[2]
  %of_small = Shape(%small) : i64[4]
  %planes = Slice(%of_small, %zero, %two, %zero) : i64[2]
  %sizes = Concat(%planes, %area) {axis=0} : i64[4]
  %grown = Resize(%small, _, _, %sizes) {coordinate_transformation_mode="asymmetric", mode="nearest", nearest_mode="floor"} : f32[1,4,9,8]
  %sum = Add(%grown, %large) : f32[1,4,9,8]
  %y = Conv(%sum, %w3) {pads=[1, 1, 1, 1], strides=[1, 1]} : f32[1,4,9,8]
}
)");
}

struct Network {
  const char* name;
  Graph (*graph)();
  std::vector<Shape> shapes;  ///< of samples
};

void PrintTo(const Network& network, std::ostream* out) {
  *out << network.name;
}

class SeveralShapes : public testing::TestWithParam<Network> {
 protected:
  SeveralShapes() { write_onnx(GetParam().graph(), path_); }

  /// As many samples as asked for, of all shapes in turn.
  std::vector<Tensor> samples(std::size_t count) const {
    std::vector<Tensor> result;
    for (std::size_t i = 0; i < count; ++i) {
      const auto& shapes = GetParam().shapes;
      result.push_back(
          normal_tensor(shapes[i % shapes.size()], static_cast<unsigned>(100 + i)));
    }
    return result;
  }
  Graph load(const Dataset& data) const { return load_model(path_, {}, &data); }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "model.onnx";
};

TEST_P(SeveralShapes, RunEachAtItsOwn) {
  const std::vector<Tensor> all = samples(7);
  const OfTheirOwnShapes data(all);
  std::size_t next = 0;
  run_dataset(load(data), data, 2, 0, [&](std::size_t run, std::vector<Tensor> results) {
    EXPECT_EQ(run, next++);
    const OfTheirOwnShapes alone({all[run]});
    Shape shape = all[run].shape();
    shape.insert(shape.begin(), 1);
    const Executable executable(load(alone), {.precise = true});
    EXPECT_EQ(results, executable.run(std::vector{all[run].reshaped(shape)}));
  });
  EXPECT_EQ(next, all.size());
}

TEST_P(SeveralShapes, GiveTheStatisticsOfEachShapeTogether) {
  const std::vector<Tensor> all = samples(9);
  const auto statistics = [&](const std::vector<Tensor>& some) {
    const OfTheirOwnShapes data(some);
    return collect(simulate_all(load(data), {}, Toolkit::builtin()), data);
  };
  const Statistics together = statistics(all);
  std::map<std::string, TensorStatistics> apart;
  for (const Tensor& sample : all) {
    for (const auto& [name, values] : statistics({sample}).values) {
      apart[name].merge(values);
    }
  }
  EXPECT_EQ(together.values, apart);
}

TEST_P(SeveralShapes, MakeNoDifferenceWhereAllAreEqual) {
  std::vector<Tensor> all;
  Shape shape = GetParam().shapes.front();
  for (unsigned i = 0; i < 12; ++i) {
    all.push_back(normal_tensor(shape, i));
  }
  const OfTheirOwnShapes one_by_one(all);
  std::vector<float> values;
  for (const Tensor& sample : all) {
    const auto own = sample.view<float>();
    values.insert(values.end(), own.begin(), own.end());
  }
  shape.insert(shape.begin(), 12);
  const SamplesInMemory at_once({{"x", Tensor::of(shape, values)}});
  const auto quantized = [&](const Dataset& data) {
    return print(quantize(load(data), data, {}, Toolkit::builtin()).integer);
  };
  EXPECT_EQ(quantized(one_by_one), quantized(at_once));
}

TEST_P(SeveralShapes, AreQuantizedByAnyNumberOfThreadsAndInAnyMemory) {
  const OfTheirOwnShapes data(samples(24));
  const Graph model = load(data);
  const auto quantized = [&](int threads, std::size_t memory) {
    return quantize(model, data, {}, Toolkit::builtin(),
                    {.threads = threads, .memory = memory});
  };
  const QuantizeResult result = quantized(1, 0);
  for (const int threads : {2, 3}) {
    EXPECT_EQ(print(quantized(threads, 0).integer), print(result.integer));
  }
  EXPECT_EQ(print(quantized(2, 4096).integer), print(result.integer));
  EXPECT_EQ(result.qdq.dimension_names.at("x"), model.dimension_names.at("x"));
}

TEST_P(SeveralShapes, AreCompared) {
  const OfTheirOwnShapes data(samples(24));
  const Graph model = load(data);
  const QuantizeResult result = quantize(model, data, {}, Toolkit::builtin());
  const Report report = compare_result(result, data, Toolkit::builtin());
  ASSERT_EQ(report.outputs.size(), 1U);
  // Signal and noise of all elements of all samples.
  const std::filesystem::path file = folder_ / "quantized.onnx";
  write_onnx(result.qdq, file);
  const Graph written = load_model(file, {}, &data);
  std::vector<std::vector<float>> exact;
  run_dataset(model, data, 1, 0, [&](std::size_t, std::vector<Tensor> results) {
    exact.push_back(results[0].to_float());
  });
  double signal = 0;
  double noise = 0;
  run_dataset(written, data, 1, 0, [&](std::size_t run, std::vector<Tensor> results) {
    const std::vector<float> found = results[0].to_float();
    ASSERT_EQ(found.size(), exact[run].size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto real = static_cast<double>(exact[run][i]);
      signal += real * real;
      noise += (real - static_cast<double>(found[i])) * (real - static_cast<double>(found[i]));
    }
  });
  const double sqnr = 10 * std::log10(signal / noise);
  EXPECT_GT(sqnr, 20);
  EXPECT_NEAR(report.outputs[0].error.sqnr.value(), sqnr,
              0.3);  // floats round in another order
}

TEST(ShapesOfSamples, ThatTheNetworkCannotTakeAreErrors) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "model.onnx";
  write_onnx(parse("graph \"g\" opset 17 (%x : f32[N=1,1,width=8]) -> (%y) {\n" +
                   constant("w", {1, 1, 3}, 1) +
                   "  %y = Conv(%x, %w) {pads=[0, 0], strides=[1]} : f32[1,1,6]\n}\n"),
             path);
  const OfTheirOwnShapes data({normal_tensor({1, 8}, 1), normal_tensor({1, 1}, 2)});
  const std::string message = message_of(
      [&] {
        run_dataset(load_model(path, {}, &data), data, 1, 0, [](auto, auto) {});
        return 0;
      },
      ErrorCode::kInvalidModel);
  EXPECT_NE(message.find("node 'y' (Conv)"), std::string::npos) << message;
  EXPECT_NE(message.find("while running the network on inputs of shape [1,1,1]"),
            std::string::npos)
      << message;
}

TEST(FixedDimension, IsAWarningWhenAModelIsQuantized) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "model.onnx";
  write_onnx(parse("graph \"g\" opset 17 (%x : f32[N=1,length=6,32]) -> (%y) {\n" +
                   constant("positions", {6, 32}, 1) + constant("w", {32, 8}, 2) +
                   R"(  %sum = Add(%x, %positions) : f32[1,6,32]
  %y = MatMul(%sum, %w) : f32[1,6,8]
}
)"),
             path);
  const SamplesInMemory data({{"x", normal_tensor({8, 6, 32}, 3)}});
  const QuantizeResult result =
      quantize(load_model(path, {}, &data), data, {}, Toolkit::builtin());
  const auto warning =
      std::find_if(result.audit.warnings.begin(), result.audit.warnings.end(),
                   [](const Warning& each) { return each.kind == "fixed_dimension"; });
  ASSERT_NE(warning, result.audit.warnings.end());
  EXPECT_EQ(warning->where, "dimension 'length'");
  EXPECT_EQ(result.qdq.dimension_names.at("x"), (std::vector<std::string>{"N", "", ""}));
}

INSTANTIATE_TEST_SUITE_P(
    Networks, SeveralShapes,
    testing::Values(Network{"sentences", sentences, {{6, 32}, {1, 32}, {17, 32}, {3, 32}}},
                    Network{"images", images, {{3, 9, 8}, {3, 4, 20}, {3, 16, 5}}},
                    Network{"pyramid", pyramid, {{3, 18, 16}, {3, 8, 40}, {3, 31, 10}}}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tare::test
