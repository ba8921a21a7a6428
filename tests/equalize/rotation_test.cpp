// A residual stream that is turned.
#include "equalize/rotation.h"

#include "tare/execute.h"
#include "tare/quantize.h"

#include "support/files/digits.h"
#include "support/files/small_decoder.h"
#include "support/graphs.h"
#include "support/message.h"
#include "support/random/random.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// The largest difference as a share of the largest magnitude.
double apart(std::span<const float> a, std::span<const float> b) {
  double largest = 0;
  double difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(a[i])));
    difference =
        std::max(difference, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  return difference / largest;
}

TEST(Rotation, LeavesTheResultsOfADecoderAsTheyAre) {
  const SmallDecoder decoder;
  const Graph plain = prepare(decoder.model, Toolkit::builtin());
  const Graph turned = with_rotation(plain);
  const Executable before(plain);
  const Executable after(turned);
  for (std::size_t i = 0; i < 4; ++i) {
    const std::vector<Tensor> sample{decoder.evaluation->read("input_ids", i, 1)};
    EXPECT_LT(apart(before.run(sample)[0].to_float(), after.run(sample)[0].to_float()), 1e-5);
  }
  EXPECT_NE(*turned.constant(*turned.find_value("0.down")),
            *plain.constant(*plain.find_value("0.down")));
  const auto gain = turned.constant(*turned.find_value("0.norm1"))->to_float();
  EXPECT_TRUE(std::all_of(gain.begin(), gain.end(), [](float g) { return g == 1; }));
}

/// Embeddings, a normalization and a matrix that adds to them, another one and scores.
Graph stream(std::int64_t width, bool has_outliers) {
  Random random{41};
  Graph graph;
  const Shape rows{1, 5, width};
  const ValueId ids = graph.add_input(
      "ids", {.dtype = DType::kInt64, .shape = {1, 5}, .quant = {}, .point = {}});
  Tensor table = random.tensor({11, width});
  for (std::int64_t i = 0; has_outliers && i < table.size(); i += width) {
    table.mutable_view<float>()[static_cast<std::size_t>(i)] = 50;
  }
  const ValueId epsilon = graph.add_constant("epsilon", Tensor::scalar(1e-5F));
  const auto normal = [&](ValueId x, const char* gain) {
    const ValueId square = add(graph, "Mul", {x, x}, rows);
    const ValueId mean = add(graph, "ReduceMean", {square}, {1, 5, 1},
                             {{"axes", std::vector<std::int64_t>{-1}}});
    const ValueId root =
        add(graph, "Sqrt", {add(graph, "Add", {mean, epsilon}, {1, 5, 1})}, {1, 5, 1});
    const ValueId plain = add(graph, "Div", {x, root}, rows);
    return add(graph, "Mul", {plain, graph.add_constant(gain, random.tensor({width}))}, rows);
  };
  const ValueId x = add(graph, "Gather", {graph.add_constant("table", table), ids}, rows);
  const ValueId added =
      add(graph, "MatMul",
          {normal(x, "gain"), graph.add_constant("w", random.tensor({width, width}))}, rows);
  const ValueId y = add(graph, "Add", {x, added}, rows);
  graph.set_outputs({add(
      graph, "MatMul",
      {normal(y, "last"), graph.add_constant("head", random.tensor({width, 7}))}, {1, 5, 7})});
  return graph;
}

TEST(Rotation, IsOrthogonalForEveryWidth) {
  const std::vector<Tensor> ids{Tensor::of<std::int64_t>({1, 5}, {3, 0, 10, 7, 7})};
  for (const std::int64_t width : {8, 12, 7, 40}) {
    const Graph plain = stream(width, false);
    const auto a = Executable(plain).run(ids)[0].to_float();
    const auto b = Executable(with_rotation(plain)).run(ids)[0].to_float();
    EXPECT_LT(apart(a, b), 1e-5) << width;
  }
}

TEST(Rotation, SpreadsOutliersOverAllChannels) {
  const Graph turned = with_rotation(stream(32, true));
  const auto table = turned.constant(*turned.find_value("table"))->to_float();
  // 50 in one channel is 50 / sqrt(32) = 8.8 in each, beside what the others give.
  for (const float value : table) {
    EXPECT_LT(std::abs(value), 20);
    EXPECT_GT(std::abs(value), 1);
  }
}

TEST(Rotation, NamesWhatItCannotPass) {
  EXPECT_EQ(
      message_of([] { return with_rotation(Digits().model); }, ErrorCode::kUnsupported),
      "'accuracy.rotation': the model looks up no embeddings, so it has no residual stream");
  Graph graph = stream(8, false);
  const NodeId lookup = graph.users(*graph.find_value("table"))[0];
  const ValueId embedded = graph.node(lookup).outputs[0];
  std::vector<ValueId> outputs(graph.outputs().begin(), graph.outputs().end());
  outputs.push_back(embedded);
  graph.set_outputs(outputs);
  EXPECT_EQ(
      message_of([&] { return with_rotation(graph); }, ErrorCode::kUnsupported),
      "value '" + graph.name(embedded) +
          "': is a result of the model, expected sums, root mean square normalizations and "
          "matrices on the residual stream");
}

}  // namespace
}  // namespace tare::test
