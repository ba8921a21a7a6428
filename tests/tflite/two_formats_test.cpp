// One network as ONNX and as TensorFlow Lite has one form once it is quantized.

#include "graph/operators/permute.h"
#include "onnx/model_builder.h"
#include "support/files/models.h"
#include "support/random/random.h"
#include "tflite/golden.h"
#include "tflite/import.h"
#include "tflite/tflite_builder.h"
#include "tflite/twin_forms.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Regions from the first product on: before it images may change their layout, as the inputs
/// of TensorFlow Lite have channels last.
std::vector<std::string> all_regions(const Graph& integer) {
  std::vector<std::string> all = regions(integer);
  all.erase(all.begin(), std::find_if(all.begin(), all.end(), [](const std::string& region) {
              return region.starts_with("product:");
            }));
  return all;
}

TEST(TwinsOfTwoFormats, OfAKeywordSpotterHaveEqualForms) {
  const auto golden = golden_networks();
  const auto of_integers = std::find_if(golden.begin(), golden.end(), [](const auto& each) {
    return each.name == "kws_dscnn_i8";
  });
  const auto models = test_models();
  const auto of_float = std::find_if(models.begin(), models.end(),
                                     [](const auto& each) { return each.name == "kws_dscnn"; });
  if (of_integers == golden.end() || of_float == models.end()) {
    GTEST_SKIP() << "the networks are not there";
  }
  const auto data = open_dataset(of_float->calibration);
  const auto few = part_of(*data, 0, 16);
  EXPECT_EQ(all_regions(quantized_here(load_model(of_float->model, {}, data.get()), *few)),
            all_regions(
                integer_graph(tflite::ModelFile(of_integers->model), Numerics::kOnnxRuntime)));
}

/// Two convolutions, an average and a dense layer. Weights are as TensorFlow Lite has them.
class SmallNetwork {
 public:
  Graph from_onnx() const {
    using Ints = std::vector<std::int64_t>;
    ModelBuilder file(17);
    file.input("x", {1, 2, 6, 5}).constant("w", permuted(w_, Ints{0, 3, 1, 2}));
    file.constant("b", b_).node("Conv", {"x", "w", "b"}, {"conv"},
                                {{"pads", Ints{0, 1, 1, 1}}, {"strides", Ints{2, 2}}});
    file.node("Relu", {"conv"}, {"relu"}).constant("dw_w", permuted(dw_w_, Ints{3, 0, 1, 2}));
    file.node("Conv", {"relu", "dw_w"}, {"dw"},
              {{"group", std::int64_t{4}}, {"pads", Ints{1, 1, 1, 1}}});
    file.node("AveragePool", {"dw"}, {"pooled"},
              {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{3, 3}}});
    file.node("Flatten", {"pooled"}, {"flat"}).constant("fc_w", fc_w_).constant("fc_b", fc_b_);
    file.node("Gemm", {"flat", "fc_w", "fc_b"}, {"fc"}, {{"transB", std::int64_t{1}}});
    file.node("Softmax", {"fc"}, {"y"}).output("y");
    return file.read();
  }

  Graph from_tflite() const {
    using namespace tflite::schema;
    using flatbuffers::FlatBufferBuilder;
    TfliteBuilder file;
    const int x = file.value("x", {1, 6, 5, 2});
    const int conv = file.value("conv", {1, 3, 3, 4});
    file.op(Builtin_CONV_2D, {x, file.constant("w", w_), file.constant("b", b_)}, {conv},
            BuiltinOptions_Conv2DOptions, [](FlatBufferBuilder& to) {
              return CreateConv2DOptions(to, Padding_SAME, 2, 2, Activation_RELU).Union();
            });
    const int dw = file.value("dw", {1, 3, 3, 4});
    file.op(Builtin_DEPTHWISE_CONV_2D, {conv, file.constant("dw_w", dw_w_), -1}, {dw},
            BuiltinOptions_DepthwiseConv2DOptions, [](FlatBufferBuilder& to) {
              return CreateDepthwiseConv2DOptions(to, Padding_SAME, 1, 1, 1).Union();
            });
    const int pooled = file.value("pooled", {1, 1, 1, 4});
    file.op(Builtin_AVERAGE_POOL_2D, {dw}, {pooled}, BuiltinOptions_Pool2DOptions,
            [](FlatBufferBuilder& to) {
              return CreatePool2DOptions(to, Padding_VALID, 3, 3, 3, 3).Union();
            });
    const int shape = file.constant(
        "shape", tare::Tensor::of<std::int32_t>({2}, std::vector<std::int32_t>{-1, 4}));
    const int flat = file.value("flat", {1, 4});
    file.op(Builtin_RESHAPE, {pooled, shape}, {flat});
    const int fc = file.value("fc", {1, 3});
    file.op(Builtin_FULLY_CONNECTED,
            {flat, file.constant("fc_w", fc_w_), file.constant("fc_b", fc_b_)}, {fc},
            BuiltinOptions_FullyConnectedOptions,
            [](FlatBufferBuilder& to) { return CreateFullyConnectedOptions(to).Union(); });
    const int y = file.value("y", {1, 3});
    file.op(Builtin_SOFTMAX, {fc}, {y}, BuiltinOptions_SoftmaxOptions,
            [](FlatBufferBuilder& to) { return CreateSoftmaxOptions(to, 1).Union(); });
    return tflite::import_model(tflite::ModelFile(file.finish({x}, {y})));
  }

 private:
  Random random_{1};
  Tensor w_ = random_.tensor({4, 3, 3, 2});
  Tensor b_ = random_.tensor({4});
  Tensor dw_w_ = random_.tensor({1, 3, 3, 4});
  Tensor fc_w_ = random_.tensor({3, 4});
  Tensor fc_b_ = random_.tensor({3});
};

TEST(TwinsOfTwoFormats, WrittenByTwoBuildersHaveEqualForms) {
  const SmallNetwork network;
  const Graph onnx = network.from_onnx();
  const Graph tflite = network.from_tflite();
  const Tensor images = Random(2).tensor({16, 2, 6, 5});
  const Tensor channels_last = permuted(images, std::vector<std::int64_t>{0, 2, 3, 1});
  const SamplesInMemory data({{"x", images}});
  const SamplesInMemory data_last({{"x", channels_last}});

  const auto results = [](const Graph& graph, const Dataset& samples) {
    std::vector<float> all;
    run_dataset(prepare(graph, Toolkit::builtin()), samples, 1, 0,
                [&](std::size_t, const std::vector<Tensor>& outputs) {
                  const auto values = outputs.at(0).to_float();
                  all.insert(all.end(), values.begin(), values.end());
                });
    return all;
  };
  const std::vector<float> one = results(onnx, data);
  const std::vector<float> other = results(tflite, data_last);
  ASSERT_EQ(one.size(), other.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_NEAR(one[i], other[i], 1e-5) << "they are no twins";
  }

  const std::vector<std::string> forms = all_regions(quantized_here(onnx, data));
  EXPECT_EQ(forms, all_regions(quantized_here(tflite, data_last)));
  EXPECT_GE(forms.size(), 5U);
}

}  // namespace
}  // namespace tare::test
