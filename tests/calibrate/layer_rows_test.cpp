#include "calibrate/rounding/layer_rows.h"

#include "support/graphs.h"
#include "support/random/random.h"

#include <set>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

struct Layer {
  std::string name;
  std::string op;
  Shape input;
  Shape weights;
  Shape output;
  Attributes attributes;
};

using Ints = std::vector<std::int64_t>;

const std::vector<Layer>& layers() {
  static const std::vector<Layer> all{
      {"Pointwise", "Conv", {1, 5, 4, 3}, {7, 5, 1, 1}, {1, 7, 4, 3}, {}},
      {"PaddedAndStrided",
       "Conv",
       {2, 3, 7, 6},
       {4, 3, 3, 2},
       {2, 4, 4, 3},
       {{"pads", Ints{1, 0, 1, 1}}, {"strides", Ints{2, 2}}}},
      {"Dilated",
       "Conv",
       {1, 2, 9, 9},
       {3, 2, 3, 3},
       {1, 3, 7, 5},
       {{"dilations", Ints{2, 2}}, {"pads", Ints{1, 0, 1, 0}}}},
      {"Grouped",
       "Conv",
       {1, 6, 5, 5},
       {8, 3, 3, 3},
       {1, 8, 5, 5},
       {{"group", std::int64_t{2}}, {"pads", Ints{1, 1, 1, 1}}}},
      {"Depthwise",
       "Conv",
       {1, 6, 5, 5},
       {12, 1, 3, 3},
       {1, 12, 3, 3},
       {{"group", std::int64_t{6}}}},
      {"SameUpper",
       "Conv",
       {1, 2, 6, 6},
       {3, 2, 3, 3},
       {1, 3, 3, 3},
       {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 2}}}},
      {"OneAxis", "Conv", {1, 4, 11}, {5, 4, 3}, {1, 5, 9}, {}},
      {"ThreeAxes", "Conv", {1, 2, 3, 4, 3}, {3, 2, 2, 2, 2}, {1, 3, 2, 3, 2}, {}},
      {"Gemm", "Gemm", {6, 5}, {5, 4}, {6, 4}, {}},
      {"TransposedGemm", "Gemm", {6, 5}, {4, 5}, {6, 4}, {{"transB", std::int64_t{1}}}},
      {"MatMul", "MatMul", {2, 3, 4, 5}, {5, 6}, {2, 3, 4, 6}, {}},
  };
  return all;
}

Graph graph_of(const Layer& layer, Random& random) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32(layer.input));
  const ValueId w = graph.add_constant("w", random.tensor(layer.weights));
  graph.set_outputs({add(graph, layer.op, {x, w}, layer.output, layer.attributes)});
  return graph;
}

const Node& only_node(const Graph& graph) {
  return graph.node(graph.nodes()[0]);
}

/// All products of the rows with the weights, sorted.
std::vector<float> products(const LayerRows& rows, const Tensor& weights) {
  const LayerMatrix& matrix = rows.matrix();
  std::vector<float> result;
  for (std::size_t group = 0; group < matrix.groups; ++group) {
    const auto values = rows.values(group);
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      for (std::size_t output = 0; output < matrix.outputs; ++output) {
        double sum = 0;
        for (std::size_t c = 0; c < matrix.columns; ++c) {
          sum += static_cast<double>(values[row * matrix.columns + c]) *
                 static_cast<double>(weights.view<float>()[matrix.at(group, output, c)]);
        }
        result.push_back(static_cast<float>(sum));
      }
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

/// The same elements with axis 1 varying fastest.
Tensor channels_last(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  const std::int64_t channels = shape[1];
  const std::int64_t inner = tensor.size() / shape[0] / channels;
  std::vector<float> values(static_cast<std::size_t>(tensor.size()));
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const std::int64_t sample = i / (channels * inner);
    const std::int64_t channel = i / inner % channels;
    values[static_cast<std::size_t>((sample * inner + i % inner) * channels + channel)] =
        tensor.view<float>()[static_cast<std::size_t>(i)];
  }
  return Tensor::of<float>(shape, values);
}

class RowsOfLayer : public ::testing::TestWithParam<Layer> {};

TEST_P(RowsOfLayer, TimesTheWeightsAreItsResults) {
  // One run has fewer positions than rows are wanted, so each is there once.
  Random random(1);
  const Graph graph = graph_of(GetParam(), random);
  const Tensor input = random.tensor(GetParam().input);
  LayerRows rows(graph, only_node(graph), 1);
  const TensorType type = f32(GetParam().input);
  rows.observe(0, {.type = &type, .data = input.data()});
  const std::vector<Tensor> results = Executable(graph).run({{input}});
  std::vector<float> expected = results[0].to_float();
  std::sort(expected.begin(), expected.end());
  const std::vector<float> found = products(rows, *graph.constant(*graph.find_value("w")));
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], 1e-5F);  // float32 sums of at most 54 products
  }
}

class RowsOfLayerWithChannels : public RowsOfLayer {};

TEST_P(RowsOfLayerWithChannels, DoNotDependOnTheMemoryOrder) {
  Random random(2);
  const Graph graph = graph_of(GetParam(), random);
  const Tensor input = random.tensor(GetParam().input);
  const Tensor turned = channels_last(input);
  const TensorType type = f32(GetParam().input);
  LayerRows one(graph, only_node(graph), 1);
  LayerRows other(graph, only_node(graph), 1);
  one.observe(0, {.type = &type, .data = input.data()});
  other.observe(0, {.type = &type, .data = turned.data(), .channels_last = true});
  for (std::size_t group = 0; group < one.matrix().groups; ++group) {
    EXPECT_TRUE(std::ranges::equal(one.values(group), other.values(group)));
  }
}

std::string name_of(const ::testing::TestParamInfo<Layer>& info) {
  return info.param.name;
}

std::vector<Layer> with_channels() {
  std::vector<Layer> result = layers();
  std::erase_if(result, [](const Layer& layer) { return layer.input.size() < 3; });
  return result;
}

INSTANTIATE_TEST_SUITE_P(Each, RowsOfLayer, ::testing::ValuesIn(layers()), name_of);
INSTANTIATE_TEST_SUITE_P(Each, RowsOfLayerWithChannels, ::testing::ValuesIn(with_channels()),
                         name_of);

TEST(LayerRows, ComeFromAllRunsAndAllPositions) {
  // Every element of the input says where it is: run * 1000 + position.
  Random random(3);
  const Layer layer{"", "Conv", {1, 1, 10, 10}, {1, 1, 1, 1}, {1, 1, 10, 10}, {}};
  const Graph graph = graph_of(layer, random);
  constexpr std::size_t kRuns = 300;
  LayerRows rows(graph, only_node(graph), kRuns);
  const TensorType type = f32(layer.input);
  for (std::size_t run = kRuns; run-- > 0;) {
    std::vector<float> values(100);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(run * 1000 + i);
    }
    const Tensor input = Tensor::of<float>(layer.input, values);
    rows.observe(run, {.type = &type, .data = input.data()});
  }
  std::set<std::size_t> runs;
  std::set<std::size_t> positions;
  std::set<std::size_t> all;
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const auto value = static_cast<std::size_t>(rows.values(0)[i]);
    EXPECT_EQ(value / 1000, rows.run_of(i));
    runs.insert(value / 1000);
    positions.insert(value % 1000);
    all.insert(value);
  }
  EXPECT_EQ(runs.size(), kRuns);
  EXPECT_EQ(positions.size(), 100U);
  EXPECT_EQ(all.size(), rows.rows()) << "a position twice in one run";
}

TEST(LayerRows, StayWithinSomeMemoryForAnyLayer) {
  Random random(4);
  const Layer layer{"", "Gemm", {1, 20000}, {20000, 2}, {1, 2}, {}};
  const Graph graph = graph_of(layer, random);
  const LayerRows rows(graph, only_node(graph), 1000000);
  EXPECT_LE(rows.rows() * 20000 * sizeof(float), std::size_t{32} << 20U);
  EXPECT_GT(rows.rows(), 400U);
}

/// One process observed the first runs, the other one the rest.
struct Halves {
  Layer layer{"",           "Conv",       {1, 4, 6, 6},
              {4, 2, 3, 3}, {1, 4, 4, 4}, {{"group", std::int64_t{2}}}};
  std::vector<LayerRows> rows;  ///< of both, and of one process with all runs

  static constexpr std::size_t kRuns = 7;
  static constexpr std::size_t kOwn = 3;  ///< of the first

  Halves() {
    Random random(5);
    const Graph graph = graph_of(layer, random);
    for (int i = 0; i < 3; ++i) {
      rows.emplace_back(graph, only_node(graph), kRuns);
    }
    const TensorType type = f32(layer.input);
    for (std::size_t run = 0; run < kRuns; ++run) {
      const Tensor input = random.tensor(layer.input);
      rows[run < kOwn ? 0 : 1].observe(run, {.type = &type, .data = input.data()});
      rows[2].observe(run, {.type = &type, .data = input.data()});
    }
  }

  /// Bytes that both send.
  std::size_t exchange(const std::optional<ByteSteps>& steps) {
    std::vector<std::byte> first(rows[0].bytes_of(0, kOwn, steps));
    std::vector<std::byte> second(rows[1].bytes_of(kOwn, kRuns, steps));
    rows[0].write_rows_of(0, kOwn, steps, first);
    rows[1].write_rows_of(kOwn, kRuns, steps, second);
    rows[0].read_rows_of(kOwn, kRuns, steps, second);
    rows[1].read_rows_of(0, kOwn, steps, first);
    return first.size() + second.size();
  }

  /// Calls check(number, the one that it was before) for all of them.
  template <class Check>
  void for_each(const Check& check) const {
    for (const std::size_t process : {0, 1}) {
      for (std::size_t group = 0; group < 2; ++group) {
        const auto own = rows[process].values(group);
        const auto all = rows[2].values(group);
        for (std::size_t i = 0; i < all.size(); ++i) {
          check(own[i], all[i]);
        }
      }
    }
  }

  std::size_t numbers() const { return 2 * rows[2].values(0).size(); }
};

TEST(LayerRows, OfOtherProcessesAreTheSame) {
  Halves halves;
  EXPECT_EQ(halves.exchange(std::nullopt), sizeof(float) * halves.numbers());
  halves.for_each([](float own, float before) { ASSERT_EQ(own, before); });
}

/// As docs/scaling.md says, in a byte each.
TEST(LayerRows, OfOtherProcessesHaveTheSameStepsInBytes) {
  // Numbers are within +-1, so that some are cut off.
  for (const QuantParams& params :
       {QuantParams{.storage = DType::kUint8, .scale = {0.007F}, .zero_point = {100}},
        QuantParams{.storage = DType::kInt8, .scale = {0.0031F}, .zero_point = {0}},
        QuantParams{.storage = DType::kInt8, .scale = {0.01F}, .zero_point = {-128}},
        QuantParams{.storage = DType::kUint16, .scale = {3e-5F}, .zero_point = {32768}},
        QuantParams{.storage = DType::kInt16, .scale = {2e-5F}, .zero_point = {300}},
        QuantParams{.storage = DType::kInt16,
        .scale = {2e-5F},
        .zero_point = {0},
        .axis = {},
        .narrow_range = true}}) {
    const ByteSteps steps(params);
    Halves halves;
    EXPECT_EQ(halves.exchange(steps), halves.numbers());
    std::set<float> different;
    halves.for_each([&](float own, float before) {
      ASSERT_EQ(steps.of(own), steps.of(before)) << before;
      different.insert(steps.of(own));
    });
    EXPECT_GT(different.size(), 50U);
    EXPECT_LE(*different.rbegin() - *different.begin(), 255);
  }
}

TEST(LayerMatrix, IsThereForConstantMatricesOnly) {
  const auto has_matrix = [](const std::string& text) {
    const Graph graph = parse(text);
    return layer_matrix(graph, only_node(graph)).has_value();
  };
  EXPECT_TRUE(
      has_matrix("graph \"g\" opset 17 (%x : f32[1,2]) -> (%y) {\n"
                 "const %w : f32[2,1] = [1, 2]\n"
                 "%y = MatMul(%x, %w) : f32[1,1]\n}"));
  EXPECT_FALSE(
      has_matrix("graph \"g\" opset 17 (%x : f32[1,2], %w : f32[2,1]) -> (%y) {\n"
                 "%y = MatMul(%x, %w) : f32[1,1]\n}"));
  EXPECT_FALSE(
      has_matrix("graph \"g\" opset 17 (%x : f32[2,1,2]) -> (%y) {\n"
                 "const %w : f32[2,2,1] = [1, 2, 3, 4]\n"
                 "%y = MatMul(%x, %w) : f32[2,1,1]\n}"));
  EXPECT_FALSE(
      has_matrix("graph \"g\" opset 17 (%x : f32[1,2]) -> (%y) {\n"
                 "const %w : f32[2] = [1, 2]\n"
                 "%y = Add(%x, %w) : f32[1,2]\n}"));
}

}  // namespace
}  // namespace tare::test
