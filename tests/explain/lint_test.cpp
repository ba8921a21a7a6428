#include "tare/graph.h"
#include "tare/integer_graph.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

// A convolution and its Relu as TensorRT wants them.
const std::string kClean = R"(
  const %s : f32[] = [0.5]
  const %z : i8[] = [0]
  const %k : i8[2,1,1,1] = [1, 2]
  const %ks : f32[2] = [0.25, 0.5]
  const %kz : i8[2] = [0, 0]
  const %b : f32[2] = [1, 2]
  %q = QuantizeLinear(%x, %s, %z) : i8[1,1,4,4]
  %d = DequantizeLinear(%q, %s, %z) : f32[1,1,4,4]
  %w = DequantizeLinear(%k, %ks, %kz) {axis=0} : f32[2,1,1,1]
  conv: %c = Conv(%d, %w, %b) : f32[1,2,4,4]
  %y = Relu(%c) : f32[1,2,4,4])";

std::string with(const std::string& before, const std::string& after) {
  std::string text = kClean;
  const std::size_t at = text.find(before);
  EXPECT_NE(at, std::string::npos) << before;
  return text.replace(at, before.size(), after);
}

std::string findings(const std::string& body, const Target& target) {
  std::string result;
  for (const LintFinding& finding :
       lint(parse("graph \"g\" opset 17 (%x : f32[1,1,4,4]) -> (%y) {" + body + "\n}"),
            target)) {
    result += finding.rule + ": " + finding.what + "\n";
  }
  return result;
}

std::string tensorrt(const std::string& body) {
  return findings(body, read_target("tensorrt"));
}

TEST(Lint, FindsNothingWrongWithWhatATargetWants) {
  EXPECT_EQ(tensorrt(kClean), "");
}

TEST(Lint, SeesOtherTypesAndZeroPoints) {
  EXPECT_EQ(tensorrt(with("const %z : i8[] = [0]", "const %z : i8[] = [3]")),
            "every zero point is 0: this one is 3\n");
  const std::string unsigned_zero = with("const %z : i8[] = [0]", "const %z : u8[] = [0]");
  std::string text = unsigned_zero;
  text.replace(text.find(": i8[1,1,4,4]"), 13, ": u8[1,1,4,4]");
  EXPECT_EQ(tensorrt(text), "activations are i8: this one is u8\n");
  EXPECT_EQ(tensorrt(with("const %kz : i8[2] = [0, 0]", "const %kz : i8[2] = [1, 0]")),
            "weights are symmetric i8: they are i8 with zero point 1\n");
}

TEST(Lint, SeesScalesAlongTheWrongAxis) {
  const std::string text = R"(
  const %s : f32[] = [0.5]
  const %z : i8[] = [0]
  const %k : i8[4,2] = [1, 2, 3, 4, 5, 6, 7, 8]
  const %ks : f32[4] = [0.25, 0.5, 1, 1]
  const %shape : i64[2] = [4, 4]
  %r = Reshape(%x, %shape) : f32[4,4]
  %q = QuantizeLinear(%r, %s, %z) : i8[4,4]
  %d = DequantizeLinear(%q, %s, %z) : f32[4,4]
  %w = DequantizeLinear(%k, %ks) {axis=0} : f32[4,2]
  %y = MatMul(%d, %w) : f32[4,2])";
  EXPECT_EQ(tensorrt(text), "scales of weights go along axis 1: they go along axis 0\n");
}

TEST(Lint, SeesBiasesOfAnotherKind) {
  EXPECT_EQ(findings(kClean,
                     [] {
                       Target target = read_target("tensorrt");
                       target.float_bias = false;
                       return target;
                     }()),
            "biases are i32 with zero point 0: this one is float\n");
  const auto integer_bias = [](const std::string& scale) {
    std::string text = with("const %b : f32[2] = [1, 2]",
                            "const %bq : i32[2] = [4, 8]\nconst %bs : f32[2] = " + scale +
                                "\n%b = DequantizeLinear(%bq, %bs) {axis=0} : f32[2]");
    return text;
  };
  Target target = read_target("tensorrt");
  EXPECT_EQ(findings(integer_bias("[0.125, 0.25]"), target),
            "biases are float: this one is i32\n");
  target.float_bias = false;
  EXPECT_EQ(findings(integer_bias("[0.125, 0.25]"), target), "");
  EXPECT_EQ(findings(integer_bias("[0.125, 0.5]"), target),
            "the scale of a bias is that of the input times that of the weight: channel 1 has "
            "0.500000\n");
}

TEST(Lint, SeesBiasesAndWeightsWithOtherNumbersOfScales) {
  const std::string text = R"(
  const %s : f32[] = [0.5]
  const %z : i8[] = [0]
  const %k : i8[5,4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]
  const %ks : f32[4] = [0.25, 0.5, 1, 1]
  const %bq : i32[5] = [1, 2, 3, 4, 5]
  const %bs : f32[5] = [0.125, 0.25, 0.5, 0.5, 0.5]
  const %shape : i64[2] = [4, 4]
  %r = Reshape(%x, %shape) : f32[4,4]
  %q = QuantizeLinear(%r, %s, %z) : i8[4,4]
  %d = DequantizeLinear(%q, %s, %z) : f32[4,4]
  %w = DequantizeLinear(%k, %ks) {axis=1} : f32[5,4]
  %b = DequantizeLinear(%bq, %bs) {axis=0} : f32[5]
  %y = Gemm(%d, %w, %b) {transB=1} : f32[4,5])";
  Target target = read_target("tensorrt");
  target.float_bias = false;
  EXPECT_EQ(findings(text, target),
            "scales of weights go along axis 0: they go along axis 1\n"
            "the scale of a bias is that of the input times that of the weight: it has 5 "
            "scales, the weight 4\n");
}

TEST(Lint, SeesConversionsBeforeAnActivationAndBeforeAnOutput) {
  const std::string rounded = with("%y = Relu(%c) : f32[1,2,4,4]",
                                   "%cq = QuantizeLinear(%c, %s, %z) : i8[1,2,4,4]\n"
                                   "%cd = DequantizeLinear(%cq, %s, %z) : f32[1,2,4,4]\n"
                                   "relu: %y = Relu(%cd) : f32[1,2,4,4]");
  EXPECT_EQ(tensorrt(rounded),
            "no conversion stands between a product and its activation: it stands before the "
            "Relu 'relu'\n");
  const std::string output = with("%y = Relu(%c) : f32[1,2,4,4]",
                                  "%cq = QuantizeLinear(%c, %s, %z) : i8[1,2,4,4]\n"
                                  "%y = DequantizeLinear(%cq, %s, %z) : f32[1,2,4,4]");
  EXPECT_EQ(
      tensorrt(output),
      "no conversion stands before an output of the graph: the result of 'conv' is rounded "
      "there\n");
}

TEST(Lint, SeesASumThatIsRoundedBeforeTheResidualJoinsIt) {
  const std::string both = with("%y = Relu(%c) : f32[1,2,4,4]",
                                "%cq = QuantizeLinear(%c, %s, %z) : i8[1,2,4,4]\n"
                                "%cd = DequantizeLinear(%cq, %s, %z) : f32[1,2,4,4]\n"
                                "%y = Add(%cd, %d) : f32[1,2,4,4]");
  EXPECT_EQ(tensorrt(both),
            "only the residual is quantized, not the sum that it joins: both operands are\n");
  EXPECT_EQ(tensorrt(with("%y = Relu(%c)", "%y = Add(%c, %d)")), "");
}

TEST(Lint, SeesOperatorsThatMixWidths) {
  const auto activation = [](const std::string& last) {
    return R"(
  const %s : f32[] = [0.5]
  const %z : u8[] = [0]
  const %t : f32[] = [0.001]
  const %u : u16[] = [0]
  %q = QuantizeLinear(%x, %s, %z) : u8[1,1,4,4]
  %d = DequantizeLinear(%q, %s, %z) : f32[1,1,4,4]
  )" + last;
  };
  const std::string mixed = activation(R"(a: %a = Add(%d, %d) : f32[1,1,4,4]
  %aq = QuantizeLinear(%a, %t, %u) : u16[1,1,4,4]
  %y = DequantizeLinear(%aq, %t, %u) : f32[1,1,4,4])");
  EXPECT_EQ(findings(mixed, read_target("qnn")),
            "an operator reads and computes values of one width: here they are u8 and u16\n");
  const std::string equal = activation(R"(%dq = QuantizeLinear(%d, %t, %u) : u16[1,1,4,4]
  %dd = DequantizeLinear(%dq, %t, %u) : f32[1,1,4,4]
  a: %a = Add(%dd, %dd) : f32[1,1,4,4]
  %aq = QuantizeLinear(%a, %t, %u) : u16[1,1,4,4]
  %y = DequantizeLinear(%aq, %t, %u) : f32[1,1,4,4])");
  EXPECT_EQ(findings(equal, read_target("qnn")), "");
}

TEST(Lint, SeesOperandsOfAConcatThatDiffer) {
  const std::string concat = with("%y = Relu(%c) : f32[1,2,4,4]",
                                  "const %t : f32[] = [1]\n"
                                  "%cq = QuantizeLinear(%c, %t, %z) : i8[1,2,4,4]\n"
                                  "%cd = DequantizeLinear(%cq, %t, %z) : f32[1,2,4,4]\n"
                                  "%y = Concat(%cd, %d) {axis=1} : f32[1,3,4,4]");
  EXPECT_EQ(tensorrt(concat),
            "a Concat has one set of parameters for all it joins: q(0.5, 0) beside q(1, 0)\n");
}

TEST(Lint, SeesParametersThatChangeOnTheWay) {
  const std::string pooled = with("%y = Relu(%c) : f32[1,2,4,4]",
                                  "const %t : f32[] = [1]\n"
                                  "%p = MaxPool(%d) {kernel_shape=[2, 2]} : f32[1,1,3,3]\n"
                                  "%pq = QuantizeLinear(%p, %t, %z) : i8[1,1,3,3]\n"
                                  "%pd = DequantizeLinear(%pq, %t, %z) : f32[1,1,3,3]\n"
                                  "%y = Conv(%pd, %w, %b) : f32[1,2,3,3]");
  EXPECT_EQ(tensorrt(pooled),
            "operators that move elements keep their parameters: q(0.5, 0) becomes q(1, 0)\n");
}

TEST(Lint, SeesOtherRangesOfProbabilities) {
  const auto softmax = [](const std::string& scale) {
    return "const %s : f32[] = [" + scale +
           "]\nconst %z : u8[] = [0]\n"
           "%q = QuantizeLinear(%x, %s, %z) : u8[1,1,4,4]\n"
           "%d = DequantizeLinear(%q, %s, %z) : f32[1,1,4,4]\n"
           "%p = Softmax(%d) : f32[1,1,4,4]\n"
           "%r = QuantizeLinear(%p, %s, %z) : u8[1,1,4,4]\n"
           "%y = DequantizeLinear(%r, %s, %z) : f32[1,1,4,4]";
  };
  EXPECT_EQ(findings(softmax("0.00390625"), read_target("qnn")), "");
  EXPECT_EQ(findings(softmax("0.5"), read_target("qnn")),
            "the result of a Softmax has q(0.00390625, 0): it has q(0.5, 0)\n");
}

TEST(Lint, SeesWhatIsNotCovered) {
  EXPECT_EQ(findings("const %s : f32[] = [1]\nconst %z : u8[] = [0]\n"
                     "%q = QuantizeLinear(%x, %s, %z) : u8[1,1,4,4]\n"
                     "%d = DequantizeLinear(%q, %s, %z) : f32[1,1,4,4]\n"
                     "%e = Exp(%d) : f32[1,1,4,4]\n%y = Tanh(%e) : f32[1,1,4,4]",
                     read_target("qnn")),
            "everything with an integer form is quantized: its input 'e' is float\n");
}

TEST(Lint, SeesScalesThatAreComputed) {
  EXPECT_EQ(
      tensorrt("const %t : f32[1,1,4,4] = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"
               "\nconst %z : i8[] = [0]\n%s = ReduceMax(%x) {keepdims=0} : f32[]\n"
               "%q = QuantizeLinear(%x, %s, %z) : i8[1,1,4,4]\n"
               "%y = DequantizeLinear(%q, %s, %z) : f32[1,1,4,4]"),
      "scales are constant and positive, zero points constant: they are computed, or no "
      "parameters\n"
      "scales are constant and positive, zero points constant: they are computed, or no "
      "parameters\n");
}

std::string verdict(const std::string& body, const std::string& node, const Target& target) {
  for (const Verdict& each :
       verdicts(parse("graph \"g\" opset 17 (%x : f32[1,1,4,4]) -> (%y) {" + body + "\n}"),
                target)) {
    if (each.node == node) {
      return each.because.empty() ? "runs as " + each.runs_as : "float: " + each.because;
    }
  }
  return "none";
}

TEST(Verdicts, SayWhatAnOperatorRunsAsOrWhyItDoesNot) {
  const Target ort = read_target("ort-cpu");
  EXPECT_EQ(verdict(kClean, "conv", ort), "float: its bias is float");
  const std::string without_bias = with("Conv(%d, %w, %b)", "Conv(%d, %w)");
  EXPECT_EQ(verdict(without_bias, "conv", ort), "float: its result is read in float");
  const std::string quantized = without_bias +
                                "\n%yq = QuantizeLinear(%y, %s, %z) : i8[1,2,4,4]\n"
                                "%out = DequantizeLinear(%yq, %s, %z) : f32[1,2,4,4]";
  EXPECT_EQ(verdict(quantized, "conv", ort), "float: its result is read in float")
      << "the graph hands out %y as well";
  EXPECT_EQ(verdict(with("Conv(%d,", "Conv(%x,"), "conv", ort), "float: its input is float");
  EXPECT_EQ(verdict("conv: %y = Sinh(%x) : f32[1,1,4,4]", "conv", ort),
            "float: the target has no integer kernel for it");
  EXPECT_EQ(verdict(kClean, "conv", read_target("tensorrt")), "runs as Conv");
}

TEST(Verdicts, TellWeightsFromActivationsInQuantizedGraphs) {
  const auto product = [](const std::string& right) {
    return "const %s : f32[] = [0.5]\nconst %z : u8[] = [0]\n"
           "const %k : i8[4,4] = [1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4]\n"
           "%w = DequantizeLinear(%k, %s) : f32[4,4]\n"
           "%q = QuantizeLinear(%x, %s, %z) : u8[1,1,4,4]\n"
           "%d = DequantizeLinear(%q, %s, %z) : f32[1,1,4,4]\n"
           "product: %y = MatMul(%d, %" +
           right + ") : f32[1,1,4,4]";
  };
  const Target ort = read_target("ort-cpu");
  EXPECT_EQ(verdict(product("w"), "product", ort),
            "runs as QLinearMatMul or MatMulIntegerToFloat");
  EXPECT_EQ(verdict(product("d"), "product", ort), "runs as QLinearMatMul");
}

}  // namespace
}  // namespace tare::test
