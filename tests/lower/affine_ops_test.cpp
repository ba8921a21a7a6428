// Every row of the allow-list: operator(dequantize(q)) against dequantize(operator on q).
#include "graph/operators/affine_ops.h"

#include "tare/execute.h"
#include "tare/graph.h"

#include "lower/affine_rewrites.h"
#include "support/random/fake_quantized.h"

#include <array>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// One way to write the operator: constants it needs, and the line that applies it to %x (and,
/// for operators whose operands are all data, %y).
struct Sample {
  std::string constants;
  std::string line;
  std::string shape;  ///< of the result
};

const std::map<std::string, Sample>& samples() {
  static const std::map<std::string, Sample> table{
      {"Add", {"", "Add(%x, %y)", "[2,4,4,4]"}},
      {"AveragePool",
       {"", "AveragePool(%x) {kernel_shape=[3, 3], pads=[1, 1, 1, 1]}", "[2,4,4,4]"}},
      {"Clip",
       {"const %lo : f32[] = [-0.33]\nconst %hi : f32[] = [1.27]\n", "Clip(%x, %lo, %hi)",
        "[2,4,4,4]"}},
      {"Concat", {"", "Concat(%x, %y) {axis=1}", "[2,8,4,4]"}},
      {"DepthToSpace", {"", "DepthToSpace(%x) {blocksize=2}", "[2,1,8,8]"}},
      {"Flatten", {"", "Flatten(%x) {axis=1}", "[2,64]"}},
      {"Gather", {"const %i : i64[3] = [3, 0, 2]\n", "Gather(%x, %i) {axis=1}", "[2,3,4,4]"}},
      {"GlobalAveragePool", {"", "GlobalAveragePool(%x)", "[2,4,1,1]"}},
      {"MaxPool",
       {"", "MaxPool(%x) {kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]}",
        "[2,4,2,2]"}},
      {"Mul", {"", "Mul(%x, %y)", "[2,4,4,4]"}},
      {"Pad", {"const %p : i64[8] = [0, 1, 0, 2, 0, 0, 1, 0]\n", "Pad(%x, %p)", "[2,5,5,6]"}},
      {"Relu", {"", "Relu(%x)", "[2,4,4,4]"}},
      {"Reshape", {"const %s : i64[3] = [2, 4, 16]\n", "Reshape(%x, %s)", "[2,4,16]"}},
      {"Sigmoid", {"", "Sigmoid(%x)", "[2,4,4,4]"}},
      {"Slice",
       {"const %b : i64[2] = [1, 0]\nconst %e : i64[2] = [3, 4]\nconst %a : i64[2] = [1, 3]\n"
        "const %t : i64[2] = [1, 2]\n",
        "Slice(%x, %b, %e, %a, %t)", "[2,2,4,2]"}},
      {"SpaceToDepth", {"", "SpaceToDepth(%x) {blocksize=2}", "[2,16,2,2]"}},
      {"Split", {"", "Split(%x) {axis=1}", "[2,2,4,4]"}},
      {"Squeeze", {"const %a : i64[1] = [0]\n", "Squeeze(%x, %a)", "[4,4,4]"}},
      {"Sub", {"", "Sub(%x, %y)", "[2,4,4,4]"}},
      {"Transpose", {"", "Transpose(%x) {perm=[0, 2, 3, 1]}", "[2,4,4,4]"}},
      {"Abs", {"", "Abs(%x)", "[2,4,4,4]"}},
      {"BatchNormalization",
       {"const %s : f32[4] = [0.5, 2, -1, 1]\nconst %b : f32[4] = [0.1, -0.5, 0, 1]\n"
        "const %m : f32[4] = [0.2, 0, -0.1, 0.3]\nconst %v : f32[4] = [1, 0.5, 2, 4]\n",
        "BatchNormalization(%x, %s, %b, %m, %v)", "[2,4,4,4]"}},
      {"Ceil", {"", "Ceil(%x)", "[2,4,4,4]"}},
      {"Celu", {"", "Celu(%x)", "[2,4,4,4]"}},
      {"Cos", {"", "Cos(%x)", "[2,4,4,4]"}},
      {"Div", {"", "Div(%x, %y)", "[2,4,4,4]"}},
      {"Elu", {"", "Elu(%x)", "[2,4,4,4]"}},
      {"Erf", {"", "Erf(%x)", "[2,4,4,4]"}},
      {"Exp", {"", "Exp(%x)", "[2,4,4,4]"}},
      {"Floor", {"", "Floor(%x)", "[2,4,4,4]"}},
      {"Gelu", {"", "Gelu(%x)", "[2,4,4,4]"}},
      {"HardSigmoid", {"", "HardSigmoid(%x)", "[2,4,4,4]"}},
      {"HardSwish", {"", "HardSwish(%x)", "[2,4,4,4]"}},
      {"InstanceNormalization",
       {"const %s : f32[4] = [0.5, 2, -1, 1]\nconst %b : f32[4] = [0.1, -0.5, 0, 1]\n",
        "InstanceNormalization(%x, %s, %b)", "[2,4,4,4]"}},
      {"LayerNormalization",
       {"const %s : f32[4] = [0.5, 2, -1, 1]\nconst %b : f32[4] = [0.1, -0.5, 0, 1]\n",
        "LayerNormalization(%x, %s, %b) {axis=-1}", "[2,4,4,4]"}},
      {"LeakyRelu", {"", "LeakyRelu(%x)", "[2,4,4,4]"}},
      {"Log", {"", "Log(%x)", "[2,4,4,4]"}},
      {"LpNormalization", {"", "LpNormalization(%x) {axis=1}", "[2,4,4,4]"}},
      {"Mish", {"", "Mish(%x)", "[2,4,4,4]"}},
      {"Neg", {"", "Neg(%x)", "[2,4,4,4]"}},
      {"Reciprocal", {"", "Reciprocal(%x)", "[2,4,4,4]"}},
      {"Round", {"", "Round(%x)", "[2,4,4,4]"}},
      {"Selu", {"", "Selu(%x)", "[2,4,4,4]"}},
      {"Sign", {"", "Sign(%x)", "[2,4,4,4]"}},
      {"Sin", {"", "Sin(%x)", "[2,4,4,4]"}},
      {"Softplus", {"", "Softplus(%x)", "[2,4,4,4]"}},
      {"Softsign", {"", "Softsign(%x)", "[2,4,4,4]"}},
      {"Rsqrt", {"", "Rsqrt(%x)", "[2,4,4,4]"}},
      {"Sqrt", {"", "Sqrt(%x)", "[2,4,4,4]"}},
      {"Tanh", {"", "Tanh(%x)", "[2,4,4,4]"}},
      {"ThresholdedRelu", {"", "ThresholdedRelu(%x)", "[2,4,4,4]"}},
      {"ArgMax", {"", "ArgMax(%x) {axis=1}", "[2,1,4,4]"}},
      {"ArgMin", {"", "ArgMin(%x) {axis=1}", "[2,1,4,4]"}},
      {"Shape", {"", "Shape(%x)", "[4]"}},
      {"Size", {"", "Size(%x)", "[]"}},
      {"Expand", {"const %s : i64[5] = [3, 2, 4, 4, 4]\n", "Expand(%x, %s)", "[3,2,4,4,4]"}},
      {"GatherElements",
       {"const %i : i64[2,4,4,1] = [0, 1, 2, 3, 3, 2, 1, 0, 0, 0, 1, 1, 2, 2, 3, 3, 1, 0, 3, "
        "2, "
        "0, 2, 1, 3, 3, 1, 2, 0, 0, 3, 3, 0]\n",
        "GatherElements(%x, %i) {axis=3}", "[2,4,4,1]"}},
      {"GatherND",
       {"const %i : i64[3,2] = [1, 3, 0, 2, 0, 0]\n", "GatherND(%x, %i)", "[3,4,4]"}},
      {"GlobalMaxPool", {"", "GlobalMaxPool(%x)", "[2,4,1,1]"}},
      {"Max", {"", "Max(%x, %y)", "[2,4,4,4]"}},
      {"Min", {"", "Min(%x, %y)", "[2,4,4,4]"}},
      {"PRelu",
       {"const %s : f32[4,1,1] = [0.25, 0.1, 3, -0.5]\n", "PRelu(%x, %s)", "[2,4,4,4]"}},
      {"PadOtherwise",
       {"const %p : i64[8] = [0, 1, 0, 2, 0, 0, 1, 0]\nconst %v : f32[] = [0.33]\n",
        "Pad(%x, %p, %v)", "[2,5,5,6]"}},
      {"ReduceMax", {"", "ReduceMax(%x) {axes=[1, 3]}", "[2,1,4,1]"}},
      {"ReduceMean", {"", "ReduceMean(%x) {axes=[2, 3]}", "[2,4,1,1]"}},
      {"ReduceMin", {"", "ReduceMin(%x) {axes=[0], keepdims=0}", "[4,4,4]"}},
      {"ReduceSum", {"const %a : i64[1] = [1]\n", "ReduceSum(%x, %a)", "[2,1,4,4]"}},
      {"Resize",
       {"const %s : f32[4] = [1, 1, 2, 1.5]\n",
        "Resize(%x, _, %s) {coordinate_transformation_mode=\"asymmetric\", mode=\"nearest\", "
        "nearest_mode=\"floor\"}",
        "[2,4,8,6]"}},
      {"ResizeOtherwise",
       {"const %s : f32[4] = [1, 1, 2, 1.5]\n", "Resize(%x, _, %s) {mode=\"linear\"}",
        "[2,4,8,6]"}},
      {"Softmax", {"", "Softmax(%x) {axis=1}", "[2,4,4,4]"}},
      {"Tile", {"const %s : i64[4] = [1, 2, 1, 3]\n", "Tile(%x, %s)", "[2,8,4,12]"}},
      {"TopK", {"const %k : i64[1] = [3]\n", "TopK(%x, %k) {axis=2}", "[2,4,3,4]"}},
      {"Unsqueeze", {"const %a : i64[1] = [1]\n", "Unsqueeze(%x, %a)", "[2,1,4,4,4]"}},
  };
  return table;
}

/// Rows of one operator are told apart by the order in which they are tried.
std::string name_of(const AffineOp& row) {
  const auto rows = affine_ops();
  const auto first = std::find_if(rows.begin(), rows.end(),
                                  [&](const AffineOp& other) { return other.op == row.op; });
  return std::string(row.op) + (first->rule == row.rule ? "" : "Otherwise");
}

struct Params {
  std::string storage;
  std::string x;  ///< q(...) of the operands and the result
  std::string y;
  std::string result;
  std::string y_storage{};  ///< and of the result, where it is another one
};

/// The types of the results, the first of which is looked at.
std::string result_types(const AffineOp& row, const std::string& shape) {
  if (row.op == "Split") {
    return "f32" + shape + ", f32" + shape;
  }
  if (row.op == "TopK") {
    return "f32" + shape + ", i64" + shape;
  }
  return (row.rule == AffineRule::kCompares ? "i64" : "f32") + shape;
}

Graph fake_quantized(const AffineOp& row, const Params& p, bool quantize_result) {
  const Sample& sample = samples().at(name_of(row));
  const std::string input = row.op == "Squeeze" ? "[1,4,4,4]" : "[2,4,4,4]";
  const bool several = row.op == "Split" || row.op == "TopK";
  const bool positions = row.rule == AffineRule::kCompares;
  const std::string& other = p.y_storage.empty() ? p.storage : p.y_storage;
  std::string text = "graph \"row\" opset 17 (%qx : " + p.storage + input + " " + p.x +
                     ", %qy : " + other + input + " " + p.y + ") -> (%out) {\n" +
                     sample.constants + "%x = Dequantize(%qx) : f32" + input +
                     "\n%y = Dequantize(%qy) : f32" + input + "\n";
  text += std::string(positions ? "%out" : "%r") + (several ? ", %unused" : "") + " = " +
          sample.line + " : " + result_types(row, sample.shape) + "\n";
  if (positions) {
    return parse(text + "}");
  }
  if (quantize_result) {
    text += "%q = Quantize(%r) : " + other + sample.shape + " " + p.result + "\n";
    text += "%out = Dequantize(%q) : f32" + sample.shape + "\n}";
  } else {
    // CumSum is not on the list, so nobody asks for storage values.
    text += "const %axis : i64[] = [0]\n%out = CumSum(%r, %axis) : f32" + sample.shape + "\n}";
  }
  return parse(text);
}

bool runs_on_storage(const Graph& graph, const AffineOp& row) {
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (node.op == row.op) {
      const bool reads = row.rule == AffineRule::kCompares;
      return graph.type(reads ? node.inputs[0] : node.outputs[0]).quant.has_value();
    }
  }
  return false;
}

class AffineRow : public ::testing::TestWithParam<AffineOp> {
 protected:
  /// Both forms of the graph give results that are `most` steps apart, or the same bytes.
  static void expect_equal(const Graph& before, double most = 0) {
    Graph after = before;
    expand_affine_regions(after);
    ASSERT_TRUE(runs_on_storage(after, GetParam())) << print(after);
    for (unsigned seed = 0; seed < 5; ++seed) {
      const std::vector<Tensor> inputs = random_storage(before, seed);
      const Tensor expected = Executable(before).run(inputs)[0];
      const Tensor actual = Executable(after).run(inputs)[0];
      if (most == 0) {
        EXPECT_EQ(actual, expected) << print(after);
        continue;
      }
      const auto a = actual.to_double();
      const auto b = expected.to_double();
      for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_NEAR(a[i], b[i], most * 1.001) << print(after);
      }
    }
  }

  static bool has_own_parameters() {
    return GetParam().rule == AffineRule::kRounds || GetParam().rule == AffineRule::kTabulates;
  }
};

TEST_P(AffineRow, IsExactOnStorageValuesWithOneSetOfParameters) {
  // An even zero point, as products in steps of 1/32 are often halves: see
  // docs/decisions/0013-ties-are-rounded-as-in-onnx-runtime.md.
  for (const auto& [storage, params] : {std::pair("u8", "q(0.03125, 76)"),
                                        {"i8", "q(0.0217, -11)"},
                                        {"u16", "q(0.0001220703125, 30000)"},
                                        {"i16", "q(0.00013, -11)"}}) {
    expect_equal(fake_quantized(GetParam(), {storage, params, params, params}, true));
  }
}

TEST_P(AffineRow, RoundsLikeTheExpressedOperatorBetweenParameters) {
  if (!has_own_parameters()) {
    // The Quantize moves up, so the operator runs with the result's parameters.
    expect_equal(fake_quantized(GetParam(),
                                {"u8", "q(0.031, 77)", "q(0.05, 3)", "q(0.047, 101)"}, true));
    return;
  }
  for (const char* result : {"q(0.047, 101)", "q(0.5, 0)"}) {
    expect_equal(
        fake_quantized(GetParam(), {"u8", "q(0.031, 77)", "q(0.05, 3)", result}, true));
  }
}

TEST_P(AffineRow, TakesOperandsAndResultsOfUnlikeTypes) {
  for (const auto& [x, y] : {std::pair("u8", "i16"), {"u16", "u8"}, {"i16", "u16"}}) {
    expect_equal(fake_quantized(
        GetParam(), {x, "q(0.031, 77)", "q(0.0005, 3)", "q(0.0047, 101)", y}, true));
  }
}

TEST_P(AffineRow, HoldsForAnyParameters) {
  std::mt19937 random(1);
  const auto dyadic = [&] { return std::ldexp(1.0F, static_cast<int>(random() % 8) - 6); };
  const auto any = [&] { return 0.01F + 0.0001F * static_cast<float>(random() % 20'000); };
  for (int i = 0; i < 40; ++i) {
    const bool is_dyadic = i % 2 == 0;
    const bool is_unsigned = i % 4 < 2;
    std::array<float, 3> scale{};
    std::array<std::string, 3> params;
    for (std::size_t k = 0; k < params.size(); ++k) {
      scale[k] = is_dyadic ? dyadic() : any();
      const int zero = static_cast<int>(random() % 128) * 2 - (is_unsigned ? 0 : 128);
      params[k] = "q(" + std::to_string(scale[k]) + ", " + std::to_string(zero) + ")";
    }
    // At most a step where products and sums of other numbers are rounded in another order.
    expect_equal(
        fake_quantized(GetParam(), {is_unsigned ? "u8" : "i8", params[0], params[1], params[2]},
                       true),
        is_dyadic ? 0 : static_cast<double>(scale[2]));
  }
}

TEST_P(AffineRow, MovesDownOnlyWhereItKeepsItsParameters) {
  const Graph before =
      fake_quantized(GetParam(), {"u8", "q(0.031, 64)", "q(0.05, 3)", ""}, false);
  Graph after = before;
  expand_affine_regions(after);
  const bool moves = !has_own_parameters() && GetParam().rule != AffineRule::kClamps;
  EXPECT_EQ(runs_on_storage(after, GetParam()), moves) << print(after);
  const std::vector<Tensor> inputs = random_storage(before, 9);
  EXPECT_EQ(Executable(after).run(inputs), Executable(before).run(inputs));
}

INSTANTIATE_TEST_SUITE_P(AllowList, AffineRow,
                         ::testing::ValuesIn(affine_ops().begin(), affine_ops().end()),
                         [](const auto& info) { return name_of(info.param); });

TEST(AffineOps, AreSortedAndExecutable) {
  const auto rows = affine_ops();
  const std::vector<std::string> known = executable_ops();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_TRUE(i == 0 || rows[i - 1].op <= rows[i].op) << rows[i].op;
    EXPECT_TRUE(std::binary_search(known.begin(), known.end(), std::string(rows[i].op)));
  }
}

}  // namespace
}  // namespace tare::test
