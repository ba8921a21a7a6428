// Files that the forms are made from may hold anything; what they compute stays the same.
#include "tare/execute.h"
#include "tare/integer_graph.h"

#include "lower/forms/engine_wishes.h"
#include "lower/lower.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr Form kForms[] = {Form::kQdq, Form::kQoperator, Form::kInteger};

/// With constants "s" and "z", parameters of bytes.
std::string model(const std::string& interface, const std::string& body) {
  return "graph \"g\" opset 17 " + interface +
         " {\nconst %s : f32[] = [0.5]\nconst %z : u8[] = [3]\n" + body + "\n}";
}

/// The integer graph of the file and all forms of that have its results.
void expect_forms_compute(const std::string& text, const std::vector<Tensor>& inputs) {
  const std::vector<Tensor> expected = Executable(parse(text)).run(inputs);
  const Graph integer = lower(from_qdq(parse(text)));
  EXPECT_EQ(Executable(integer).run(inputs), expected) << print(integer);
  for (const Form form : kForms) {
    const Graph exported = export_form(integer, form);
    EXPECT_EQ(Executable(exported).run(inputs), expected) << print(exported);
  }
}

const std::vector<Tensor> kFour{Tensor::of<float>({4}, {-2, 1, 2, 300})};

TEST(ExportedForms, LeaveStorageValuesThatAreReadAsIntegers) {
  expect_forms_compute(model("(%x : f32[4]) -> (%y)",
                             "%q = QuantizeLinear(%x, %s, %z) : u8[4]\n"
                             "%y = Cast(%q) {to=1} : f32[4]"),
                       kFour);
  expect_forms_compute(model("(%x : f32[4]) -> (%y, %d)",
                             "const %one : u8[] = [1]\n"
                             "%q = QuantizeLinear(%x, %s, %z) : u8[4]\n"
                             "%d = DequantizeLinear(%q, %s, %z) : f32[4]\n"
                             "%y = Add(%q, %one) : u8[4]"),
                       kFour);
}

TEST(ExportedForms, LeaveIntegersThatAreReadAsStorageValues) {
  expect_forms_compute(model("(%x : i32[4]) -> (%y)",
                             "%q = Cast(%x) {to=2} : u8[4]\n"
                             "%y = DequantizeLinear(%q, %s, %z) : f32[4]"),
                       {Tensor::of<std::int32_t>({4}, {0, 1, 2, 255})});
  expect_forms_compute(model("(%x : u8[1,2]) -> (%y)",
                             "const %w : u8[2,2] = [1, 2, 3, 4]\n"
                             "%q = MatMulInteger(%x, %w) : i32[1,2]\n"
                             "%y = DequantizeLinear(%q, %s) : f32[1,2]"),
                       {Tensor::of<std::uint8_t>({1, 2}, {1, 2})});
}

TEST(ExportedForms, LeaveMovedIntegersThatAreReadBothWays) {
  for (const char* moved : {"Reshape(%b, %shape)", "Concat(%b) {axis=0}"}) {
    expect_forms_compute(model("(%b : i32[2]) -> (%y, %c, %d)",
                               "const %shape : i64[1] = [2]\n%m = " + std::string(moved) +
                                   " : i32[2]\n"
                                   "%y = DequantizeLinear(%m, %s) : f32[2]\n"
                                   "%d = DequantizeLinear(%b, %s) : f32[2]\n"
                                   "%c = Cast(%m) {to=1} : f32[2]"),
                         {Tensor::of<std::int32_t>({2}, {70000, -2})});
  }
}

TEST(ExportedForms, GiveOwnConstantsNamesThatNoOtherHas) {
  expect_forms_compute(model("(%x : f32[4]) -> (%y)",
                             "const %scale : f32[4] = [1, 2, 3, 4]\n"
                             "const %q_dequantized : f32[4] = [1, 2, 3, 4]\n"
                             "const %quantization_scale : f32[4] = [4, 3, 2, 1]\n"
                             "%q = QuantizeLinear(%x, %s, %z) : u8[4]\n"
                             "%d = DequantizeLinear(%q, %s, %z) : f32[4]\n"
                             "%a = Mul(%d, %scale) : f32[4]\n"
                             "%b = Mul(%a, %quantization_scale) : f32[4]\n"
                             "%y = Mul(%b, %q_dequantized) : f32[4]"),
                       kFour);
}

/// A Gemm or MatMul of quantized factors named d and dw.
const std::string kFactors =
    "const %zi : i8[] = [0]\nconst %w : i8[2,2] = [1, 2, 3, -4]\n"
    "%q = QuantizeLinear(%x, %s, %z) : u8[1,2]\n"
    "%d = DequantizeLinear(%q, %s, %z) : f32[1,2]\n"
    "%dw = DequantizeLinear(%w, %s, %zi) : f32[2,2]\n";

TEST(ExportedForms, LeaveProductsWithAComputedBiasToFloat) {
  const std::string text = model("(%x : f32[1,2], %b : i32[2]) -> (%y)",
                                 kFactors +
                                     "const %t : f32[] = [0.25]\n"
                                     "%db = DequantizeLinear(%b, %t) : f32[2]\n"
                                     "%y = Gemm(%d, %dw, %db) : f32[1,2]");
  expect_forms_compute(
      text, {Tensor::of<float>({1, 2}, {1, 2}), Tensor::of<std::int32_t>({2}, {1, 2})});
  EXPECT_TRUE(worst_case_accumulators(lower(from_qdq(parse(text)))).empty());
}

TEST(ExportedForms, RoundResultsWithSeveralScalesFromRealSums) {
  const Graph file =
      parse(model("(%x : f32[1,2]) -> (%y)",
                  kFactors + "const %t : f32[2] = [0.25, 0.5]\n"
                             "const %tz : u8[2] = [1, 2]\n"
                             "%m = MatMul(%d, %dw) : f32[1,2]\n"
                             "%p = QuantizeLinear(%m, %t, %tz) {axis=1} : u8[1,2]\n"
                             "%y = DequantizeLinear(%p, %t, %tz) {axis=1} : f32[1,2]"));
  const std::vector<Tensor> inputs{Tensor::of<float>({1, 2}, {1, 2})};
  const std::vector<Tensor> expected = Executable(file).run(inputs);
  const Graph integer = lower(from_qdq(file));
  EXPECT_EQ(Executable(integer).run(inputs), expected) << print(integer);
  for (const Form form : {Form::kQdq, Form::kInteger}) {
    EXPECT_EQ(Executable(export_form(integer, form)).run(inputs), expected);
  }
  EXPECT_NO_THROW((void)export_form(integer, Form::kQoperator));
}

TEST(ExportedForms, LeaveOtherConversionsThanOursToTargets) {
  // A computed scale; two axes; a zero point; conversions without zero points.
  const std::string computed = model("(%t : f32[]) -> (%y)",
                                     "const %b : i32[2] = [4, 8]\n"
                                     "%y = DequantizeLinear(%b, %t) : f32[2]");
  const std::string matrix = model("() -> (%y)",
                                   "const %b : i32[1,2] = [4, 8]\n"
                                   "const %t : f32[2] = [1, 2]\n"
                                   "%y = DequantizeLinear(%b, %t) {axis=1} : f32[1,2]");
  const std::string shifted = model("() -> (%y)",
                                    "const %b : i32[2] = [4, 8]\nconst %i : i32[] = [1]\n"
                                    "%y = DequantizeLinear(%b, %s, %i) : f32[2]");
  for (const std::string& text : {computed, matrix, shifted}) {
    EXPECT_TRUE(with_real_biases(parse(text)).find_node("y")) << text;
  }
  const Graph merged =
      merge_activations(parse(model("(%x : f32[4]) -> (%y)",
                                    "%q = QuantizeLinear(%x, %s) : u8[4]\n"
                                    "%d = DequantizeLinear(%q, %s, %z) : f32[4]\n"
                                    "%r = Relu(%d) : f32[4]\n"
                                    "%y = QuantizeLinear(%r, %s) : u8[4]")));
  EXPECT_TRUE(merged.find_node("d"));
}

TEST(Lower, LeavesBoundsThatAreNoNumbersToTheirOperator) {
  const Graph integer =
      lower(from_qdq(parse(model("(%x : f32[4]) -> (%y)",
                                 "const %none : f32[0] = []\n"
                                 "%q = QuantizeLinear(%x, %s, %z) : u8[4]\n"
                                 "%d = DequantizeLinear(%q, %s, %z) : f32[4]\n"
                                 "%c = Clip(%d, %none) : f32[4]\n"
                                 "%p = QuantizeLinear(%c, %s, %z) : u8[4]\n"
                                 "%y = DequantizeLinear(%p, %s, %z) : f32[4]"))));
  EXPECT_TRUE(integer.find_value("c").has_value() || integer.find_value("none").has_value());
}

}  // namespace
}  // namespace tare::test
