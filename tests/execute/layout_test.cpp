#include "support/graphs.h"
#include "support/node_run.h"
#include "support/random/random.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// A node that works in any layout.
struct LayoutCase {
  std::string name;
  Node node;
  std::vector<NodeInput> inputs;
  std::vector<TensorType> results;
};

/// Multiples of 1/256, of which any few have an exact sum and square in double.
Tensor exact_values(Shape shape, std::uint32_t seed) {
  Random random(seed);
  Tensor tensor(DType::kFloat32, std::move(shape));
  for (float& x : tensor.mutable_view<float>()) {
    x = static_cast<float>(random.integer(-512, 512)) / 256.F;
  }
  return tensor;
}

NodeInput computed(Shape shape, std::uint32_t seed = 1) {
  return {exact_values(std::move(shape), seed)};
}

NodeInput fixed(Shape shape) {
  return {exact_values(std::move(shape), 2), true};
}

void add_elementwise(std::vector<LayoutCase>& cases) {
  const Shape shape{2, 5, 3, 4};
  for (const char* op : {"Relu",     "LeakyRelu",   "ThresholdedRelu",
                         "Elu",      "Celu",        "Selu",
                         "Sigmoid",  "HardSigmoid", "HardSwish",
                         "Softplus", "Softsign",    "Mish",
                         "Gelu",     "Abs",         "Neg",
                         "Sign",     "Floor",       "Ceil",
                         "Round",    "Reciprocal",  "Sqrt",
                         "Exp",      "Log",         "Erf",
                         "Sin",      "Tanh",        "Clip"}) {
    cases.push_back({op, make_node(op), {computed(shape)}, {f32(shape)}});
  }
  for (const char* op :
       {"Add", "Sub", "Mul", "Div", "PRelu", "Pow", "Max", "Min", "Sum", "Mean"}) {
    const std::string name = op;
    cases.push_back(
        {name + "_same", make_node(op), {computed(shape), computed(shape, 3)}, {f32(shape)}});
    cases.push_back(
        {name + "_scalar", make_node(op), {computed(shape), computed({})}, {f32(shape)}});
    cases.push_back({name + "_channel",
                     make_node(op),
                     {computed(shape), computed({5, 1, 1}, 3)},
                     {f32(shape)}});
    cases.push_back({name + "_constant",
                     make_node(op),
                     {computed(shape), fixed({1, 5, 1, 1})},
                     {f32(shape)}});
    cases.push_back({name + "_gate",
                     make_node(op),
                     {computed(shape), computed({2, 5, 1, 1}, 3)},
                     {f32(shape)}});
    cases.push_back({name + "_left",
                     make_node(op),
                     {computed({2, 1, 3, 1}), computed({1, 5, 1, 4}, 3)},
                     {f32(shape)}});
  }
  cases.push_back({"Less",
                   make_node("Less"),
                   {computed(shape), computed(shape, 3)},
                   {typed(DType::kBool, shape)}});
  cases.push_back(
      {"Cast", make_node("Cast"), {computed(shape)}, {typed(DType::kInt32, shape)}});
}

void add_data_movement(std::vector<LayoutCase>& cases) {
  const NodeInput x = computed({2, 5, 3, 4});
  for (const std::int64_t axis : {0, 1, 2, 3}) {
    Shape joined{2, 5, 3, 4};
    joined[static_cast<std::size_t>(axis)] *= 2;
    const std::string suffix = "_axis" + std::to_string(axis);
    cases.push_back({"Concat" + suffix,
                     make_node("Concat", {{"axis", axis}}),
                     {x, computed({2, 5, 3, 4}, 3)},
                     {f32(joined)}});
    cases.push_back({"Split" + suffix,
                     make_node("Split", {{"axis", axis}}),
                     {computed(joined)},
                     {f32({2, 5, 3, 4}), f32({2, 5, 3, 4})}});
    cases.push_back(
        {"CumSum" + suffix, make_node("CumSum"), {x, constant({axis})}, {f32({2, 5, 3, 4})}});
  }
  cases.push_back(
      {"Slice",
       make_node("Slice"),
       {x, constant({4, 0}), constant({-9, 3}), constant({1, 3}), constant({-2, 2})},
       {f32({2, 3, 3, 2})}});
  for (const char* mode : {"constant", "reflect", "edge"}) {
    cases.push_back({std::string("Pad_") + mode,
                     make_node("Pad", {{"mode", std::string(mode)}}),
                     {x, constant({0, 1, 2, 0, 1, 2, 1, 3})},
                     {f32({3, 8, 6, 7})}});
  }
  cases.push_back({"Pad_crops",
                   make_node("Pad"),
                   {x, constant({0, -1, 0, -3, 0, 0, 0, 0})},
                   {f32({2, 4, 3, 1})}});
  cases.push_back({"Expand",
                   make_node("Expand"),
                   {computed({2, 5, 1, 4}), constant({2, 5, 3, 4})},
                   {f32({2, 5, 3, 4})}});
  cases.push_back(
      {"Tile", make_node("Tile"), {x, constant({1, 2, 3, 1})}, {f32({2, 10, 9, 4})}});
  for (const char* mode : {"DCR", "CRD"}) {
    cases.push_back({std::string("DepthToSpace_") + mode,
                     make_node("DepthToSpace",
                               {{"blocksize", std::int64_t{2}}, {"mode", std::string(mode)}}),
                     {computed({2, 12, 3, 5})},
                     {f32({2, 3, 6, 10})}});
  }
  cases.push_back({"SpaceToDepth",
                   make_node("SpaceToDepth", {{"blocksize", std::int64_t{2}}}),
                   {computed({2, 3, 6, 10})},
                   {f32({2, 12, 3, 5})}});
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    cases.push_back({std::string("Resize_") + mode,
                     make_node("Resize", {{"mode", std::string(mode)}}),
                     {x,
                      {Tensor(DType::kFloat32, {0}), true},
                      {Tensor(DType::kFloat32, {0}), true},
                      constant({2, 5, 6, 3})},
                     {f32({2, 5, 6, 3})}});
  }
}

void add_others(std::vector<LayoutCase>& cases) {
  const NodeInput x = computed({2, 5, 3, 4});
  const std::vector<std::vector<std::int64_t>> axes{{2, 3}, {1}, {0, 2}, {0, 1, 2, 3}};
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1",
                         "ReduceL2", "ReduceSumSquare"}) {
    for (const auto& reduced : axes) {
      Shape kept{2, 5, 3, 4};
      std::string name = op;
      for (const std::int64_t axis : reduced) {
        kept[static_cast<std::size_t>(axis)] = 1;
        name += "_" + std::to_string(axis);
      }
      cases.push_back({name, make_node(op, {{"axes", reduced}}), {x}, {f32(kept)}});
    }
  }
  const NodeInput scale{Tensor::of<float>({5}, std::vector{.5F, .25F, .125F, 2.F, .01F}), true};
  const NodeInput zero{
      Tensor::of<std::uint8_t>({5}, std::vector<std::uint8_t>{0, 1, 128, 255, 7}), true};
  const TensorType stored = typed(DType::kUint8, {2, 5, 3, 4});
  cases.push_back({"QuantizeLinear", make_node("QuantizeLinear"), {x, scale, zero}, {stored}});
  Tensor q(DType::kUint8, {2, 5, 3, 4});
  std::uint8_t next = 0;
  for (std::uint8_t& value : q.mutable_view<std::uint8_t>()) {
    value = next += 7;
  }
  cases.push_back({"DequantizeLinear",
                   make_node("DequantizeLinear"),
                   {{q}, scale, zero},
                   {f32({2, 5, 3, 4})}});
}

std::vector<LayoutCase> layout_cases() {
  std::vector<LayoutCase> cases;
  add_elementwise(cases);
  add_data_movement(cases);
  add_others(cases);
  return cases;
}

class AnyLayout : public ::testing::TestWithParam<LayoutCase> {};

TEST_P(AnyLayout, GivesTheSameBits) {
  const LayoutCase& test = GetParam();
  const auto plain = run_node(test.node, test.inputs, test.results, Layout::kPlain);
  const auto last = run_node(test.node, test.inputs, test.results, Layout::kChannelsLast);
  ASSERT_EQ(plain.size(), last.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_EQ(plain[i], last[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernel, AnyLayout, ::testing::ValuesIn(layout_cases()),
                         [](const auto& info) { return info.param.name; });

/// Sums of up to five terms at most 1 are added in another order: each addition rounds by at
/// most half an epsilon, then the quotient once more.
TEST(AnyLayoutOf, SoftmaxDiffersByRoundingOnly) {
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    for (const std::int64_t axis : {1, 2, 3}) {
      const Node node = make_node(op, {{"axis", axis}});
      const std::vector inputs{computed({2, 5, 3, 4})};
      const std::vector results{f32({2, 5, 3, 4})};
      const auto plain = run_node(node, inputs, results, Layout::kPlain)[0].to_float();
      const auto last = run_node(node, inputs, results, Layout::kChannelsLast)[0].to_float();
      for (std::size_t i = 0; i < plain.size(); ++i) {
        EXPECT_NEAR(plain[i], last[i], 8 * 0x1p-23F) << op << axis;
      }
    }
  }
}

}  // namespace
}  // namespace tare::test
