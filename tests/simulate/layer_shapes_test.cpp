#include "simulate/layer_shapes.h"

#include "tare/config.h"
#include "tare/graph.h"
#include "tare/quantize.h"

#include "support/files/digits.h"
#include "support/files/files.h"
#include "support/files/folder.h"
#include "support/graphs.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// A layer of each kind, with zeros for weights.
Graph layers() {
  Graph graph;
  ValueId value = graph.add_input("x", f32({1, 4, 6, 6}));
  const auto layer = [&](const std::string& name, const std::string& op, const Shape& weights,
                         const Shape& result, std::int64_t groups) {
    const ValueId w = graph.add_constant(name + ".w", Tensor(DType::kFloat32, weights));
    Attributes attributes;
    if (op != "MatMul") {
      attributes.set("group", groups);
    }
    const NodeId id = graph.add_node(name, op, {value, w}, {{name, f32(result)}}, attributes);
    value = graph.node(id).outputs[0];
  };
  layer("stem", "Conv", {8, 4, 3, 3}, {1, 8, 4, 4}, 1);
  layer("depthwise", "Conv", {8, 1, 3, 3}, {1, 8, 2, 2}, 8);
  layer("pointwise", "Conv", {6, 8, 1, 1}, {1, 6, 2, 2}, 1);
  layer("grouped", "Conv", {4, 3, 1, 1}, {1, 4, 2, 2}, 2);
  layer("up", "ConvTranspose", {4, 5, 2, 2}, {1, 10, 3, 3}, 2);
  layer("matrix", "MatMul", {3, 7}, {1, 10, 3, 7}, 1);
  const NodeId relu = graph.add_node("relu", "Relu", {value}, {{"y", f32({1, 10, 3, 7})}});
  graph.set_outputs({graph.node(relu).outputs[0]});
  return graph;
}

std::set<std::string> matched(const LayerShape& shape) {
  const Graph graph = layers();
  const LayerShapes shapes(graph);
  std::set<std::string> names;
  for (const NodeId id : graph.nodes()) {
    if (shapes.match(shape, id)) {
      names.insert(graph.node(id).name);
    }
  }
  return names;
}

using Matched = std::set<std::string>;

TEST(LayerShapes, AreReadOffTheWeights) {
  LayerShape depthwise;
  depthwise.groups = IntegerRange{2};
  depthwise.input_channels = IntegerRange{1, 1};
  EXPECT_EQ(matched(depthwise), Matched{"depthwise"});
  LayerShape pointwise;
  pointwise.kernel = IntegerRange{1, 1};
  EXPECT_EQ(matched(pointwise), (Matched{"pointwise", "grouped", "matrix"}));
  LayerShape wide;
  wide.output_channels = IntegerRange{8};
  EXPECT_EQ(matched(wide), (Matched{"stem", "depthwise", "up"}));
  LayerShape inputs;
  inputs.input_channels = IntegerRange{2, 3};
  EXPECT_EQ(matched(inputs), (Matched{"grouped", "up", "matrix"}));
  LayerShape first;
  first.depth = IntegerRange{0, 1};
  EXPECT_EQ(matched(first), (Matched{"stem", "depthwise"}));
  LayerShape last;
  last.depth = IntegerRange{5};
  EXPECT_EQ(matched(last), Matched{"matrix"});
  last.depth = IntegerRange{-1, -1};
  EXPECT_EQ(matched(last), Matched{"matrix"});
  LayerShape ends;
  ends.depth = IntegerRange{-1, 0};
  EXPECT_EQ(matched(ends), (Matched{"stem", "matrix"}));
  EXPECT_EQ(matched({}).size(), 7U) << "no condition, any operator";
}

class ShapesInRules : public InFolder {
 protected:
  Config read(const std::string& text) const {
    write_bytes(path("c.yaml"), text);
    return read_config(path("c.yaml"), {}, Toolkit::builtin().calibrator_names());
  }
};

TEST_F(ShapesInRules, GiveDepthwiseConvolutionsFourBits) {
  const Digits digits;
  const Config config =
      read("layers:\n- {match: {input_channels: 1, groups: 2..}, weights: {bits: 4}}\n");
  const QuantizeResult result =
      quantize(digits.model, *digits.data, config, Toolkit::builtin(), {.samples = 10});
  std::size_t depthwise = 0;
  for (const QuantPoint& point : result.simulated.points) {
    if (point.role == Role::kWeight) {
      const Node& node = result.simulated.source.node(*point.reader);
      const bool is_depthwise = node.attributes.integer("group", 1) > 1;
      depthwise += is_depthwise ? 1 : 0;
      EXPECT_EQ(point.spec.bits, is_depthwise ? 4 : 0) << point.name << ": 0 is all";
    }
  }
  EXPECT_GT(depthwise, 1U);
}

TEST_F(ShapesInRules, ReadIntegersAndRanges) {
  const Config config = read(
      "layers:\n- {match: {groups: 3, kernel: 2.., input_channels: ..16, depth: 4..8}, "
      "keep_float: true}\n");
  const LayerShape& shape = config.layers.at(0).shape;
  EXPECT_EQ(shape.groups, (IntegerRange{3, 3}));
  EXPECT_EQ(shape.kernel, (IntegerRange{2}));
  EXPECT_EQ(shape.input_channels, (IntegerRange{0, 16}));
  EXPECT_EQ(shape.depth, (IntegerRange{4, 8}));
  EXPECT_EQ(shape.output_channels, std::nullopt);
  const auto depth = [&](const std::string& text) {
    return read("layers: [{match: {depth: " + text + "}, keep_float: true}]\n")
        .layers.at(0)
        .shape.depth;
  };
  EXPECT_EQ(depth("-1"), (IntegerRange{-1, -1}));
  EXPECT_EQ(depth("-1..0"), (IntegerRange{-1, 0}));
  EXPECT_EQ(depth("-2.."), (IntegerRange{-2, -1}));
  EXPECT_THROW((void)read("layers: [{match: {groups: -1}, keep_float: true}]\n"), Error);
  for (const char* wrong : {"..", "8..4", "1...2", "a", "[1]", "2..b", "0..-1"}) {
    const std::string message = message_of(
        [&] {
          (void)read("layers:\n- {match: {depth: " + std::string(wrong) +
                     "}, keep_float: true}\n");
        },
        ErrorCode::kInvalidConfig);
    EXPECT_NE(message.find("expected an integer, or a range such as 2.., ..16, 4..8 or -1..0"),
              std::string::npos)
        << wrong << '\n'
        << message;
  }
}

TEST_F(ShapesInRules, ThatNoLayerHasAreErrors) {
  const Digits digits;
  const Config config =
      read("layers:\n- {match: {op: Conv, output_channels: 1000..}, keep_float: true}\n");
  const std::string message = message_of(
      [&] {
        (void)quantize(digits.model, *digits.data, config, Toolkit::builtin(), {.samples = 2});
      },
      ErrorCode::kInvalidConfig);
  EXPECT_NE(message.find("no Conv of that shape in the model"), std::string::npos) << message;
}

}  // namespace
}  // namespace tare::test
