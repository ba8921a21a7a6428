// Every row of the allow-list: operator(dequantize(q)) against dequantize(operator on q).
#include "graph/affine_ops.h"

#include "tare/execute.h"
#include "tare/graph.h"

#include "lower/affine_rewrites.h"

#include <random>

#include <gtest/gtest.h>

namespace tare {
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
      {"Unsqueeze", {"const %a : i64[1] = [1]\n", "Unsqueeze(%x, %a)", "[2,1,4,4,4]"}},
  };
  return table;
}

struct Params {
  std::string storage;
  std::string x;  ///< q(...) of the operands and the result
  std::string y;
  std::string result;
};

Graph fake_quantized(const std::string& op, const Params& p, bool quantize_result) {
  const Sample& sample = samples().at(op);
  const std::string input = op == "Squeeze" ? "[1,4,4,4]" : "[2,4,4,4]";
  std::string text = "graph \"row\" opset 17 (%qx : " + p.storage + input + " " + p.x +
                     ", %qy : " + p.storage + input + " " + p.y + ") -> (%out) {\n" +
                     sample.constants + "%x = Dequantize(%qx) : f32" + input +
                     "\n%y = Dequantize(%qy) : f32" + input + "\n";
  const std::string result = op == "Split" ? "%r, %unused" : "%r";
  const std::string type = "f32" + sample.shape;
  text +=
      result + " = " + sample.line + " : " + type + (op == "Split" ? ", " + type : "") + "\n";
  if (quantize_result) {
    text += "%q = Quantize(%r) : " + p.storage + sample.shape + " " + p.result + "\n";
    text += "%out = Dequantize(%q) : " + type + "\n}";
  } else {
    // Neg is not on the list, so nobody asks for storage values.
    text += "%out = Neg(%r) : " + type + "\n}";
  }
  return parse(text);
}

std::vector<Tensor> random_storage(const Graph& graph, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs()) {
    Tensor tensor(graph.type(id).dtype, graph.type(id).shape);
    for (std::size_t i = 0; i < tensor.byte_size(); ++i) {
      tensor.mutable_data()[i] = static_cast<std::byte>(random() & 0xFFU);
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

bool runs_on_storage(const Graph& graph, const std::string& op) {
  for (const NodeId id : graph.nodes()) {
    if (graph.node(id).op == op) {
      return graph.type(graph.node(id).outputs[0]).quant.has_value();
    }
  }
  return false;
}

class AffineRow : public testing::TestWithParam<AffineOp> {
 protected:
  /// Both forms of the graph give the same bytes.
  static void expect_equal(const Graph& before) {
    const std::string op(GetParam().op);
    Graph after = before;
    expand_affine_regions(after);
    ASSERT_TRUE(runs_on_storage(after, op)) << print(after);
    for (unsigned seed = 0; seed < 5; ++seed) {
      const std::vector<Tensor> inputs = random_storage(before, seed);
      EXPECT_EQ(Executable(after).run(inputs), Executable(before).run(inputs)) << print(after);
    }
  }
};

TEST_P(AffineRow, IsExactOnStorageValuesWithOneSetOfParameters) {
  // An even zero point, as products in steps of 1/32 are often halves: see
  // docs/decisions/0013-halves-fall-as-in-onnx-runtime.md.
  for (const auto& [storage, params] :
       {std::pair("u8", "q(0.03125, 76)"), {"i8", "q(0.0217, -11)"}}) {
    expect_equal(
        fake_quantized(std::string(GetParam().op), {storage, params, params, params}, true));
  }
}

TEST_P(AffineRow, RoundsLikeTheExpressedOperatorBetweenParameters) {
  if (GetParam().rule != AffineRule::kRounds) {
    // The Quantize moves up, so the operator runs with the result's parameters.
    expect_equal(fake_quantized(std::string(GetParam().op),
                                {"u8", "q(0.031, 77)", "q(0.05, 3)", "q(0.047, 101)"}, true));
    return;
  }
  for (const char* result : {"q(0.047, 101)", "q(0.5, 0)"}) {
    expect_equal(fake_quantized(std::string(GetParam().op),
                                {"u8", "q(0.031, 77)", "q(0.05, 3)", result}, true));
  }
}

TEST_P(AffineRow, MovesDownOnlyWhereItKeepsItsParameters) {
  const std::string op(GetParam().op);
  const Graph before = fake_quantized(op, {"u8", "q(0.031, 64)", "q(0.05, 3)", ""}, false);
  Graph after = before;
  expand_affine_regions(after);
  const bool moves =
      GetParam().rule == AffineRule::kMoves || GetParam().rule == AffineRule::kRectifies;
  EXPECT_EQ(runs_on_storage(after, op), moves) << print(after);
  const std::vector<Tensor> inputs = random_storage(before, 9);
  EXPECT_EQ(Executable(after).run(inputs), Executable(before).run(inputs));
}

INSTANTIATE_TEST_SUITE_P(AllowList, AffineRow,
                         testing::ValuesIn(affine_ops().begin(), affine_ops().end()),
                         [](const auto& info) { return std::string(info.param.op); });

TEST(AffineOps, AreSortedAndExecutable) {
  const auto rows = affine_ops();
  const std::vector<std::string> known = executable_ops();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_TRUE(i == 0 || rows[i - 1].op < rows[i].op) << rows[i].op;
    EXPECT_TRUE(std::binary_search(known.begin(), known.end(), std::string(rows[i].op)));
  }
}

}  // namespace
}  // namespace tare
