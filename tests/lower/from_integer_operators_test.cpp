
#include "lower/forms/forms.h"
#include "lower/lower.h"
#include "support/same_structure.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

std::string model(const std::string& body) {
  return "graph \"g\" opset 17 (%x : u8[1,2,2]) -> (%y) {\nconst %half : f32[] = [0.5]\n" +
         body + "\n}";
}

void expect_unchanged(const std::string& text) {
  const Graph before = parse(text);
  const Graph after = from_integer_operators(before);
  EXPECT_EQ(print(after), print(before));
}

TEST(FromIntegerOperators, LeavesScalesAlongRowsOfAProductWithAVector) {
  expect_unchanged(
      model("const %w : i8[2] = [1, 2]\nconst %b : f32[2] = [1, 2]\n"
            "%p = MatMulInteger(%x, %w) : i32[1,2]\n%c = Cast(%p) {to=1} : f32[1,2]\n"
            "%f = Mul(%half, %b) : f32[2]\n%y = Mul(%c, %f) : f32[1,2]"));
}

TEST(FromIntegerOperators, LeavesConstantsThatBroadcastTheResult) {
  expect_unchanged(
      model("const %w : i8[2,2] = [1, 2, 3, 4]\nconst %b : f32[] = [1]\n"
            "const %z : f32[1,1,1,1] = [1]\nconst %low : f32[] = [0]\n"
            "const %high : f32[] = [255]\n"
            "%p = MatMulInteger(%x, %w) : i32[1,2,2]\n%c = Cast(%p) {to=1} : f32[1,2,2]\n"
            "%f = Mul(%half, %b) : f32[]\n%g = Div(%f, %half) : f32[]\n"
            "%m = Mul(%c, %g) : f32[1,2,2]\n%r = Round(%m) : f32[1,2,2]\n"
            "%t = Add(%r, %z) : f32[1,1,2,2]\n%k = Clip(%t, %low, %high) : f32[1,1,2,2]\n"
            "%y = Cast(%k) {to=2} : u8[1,1,2,2]"));
}

/// A sum of x with itself, as to_integer_operators() spells it but for the type in its middle.
std::string sum_in(const std::string& type, const std::string& number) {
  const std::string cast = ") {to=" + number + "} : " + type;
  return model(
      "const %z : f32[] = [3]\nconst %low : f32[] = [0]\nconst %high : f32[] = [255]\n"
      "%r = Div(%half, %half) : f32[]\n%o = Mul(%r, %z) : f32[]\n"
      "%oo = Add(%o, %o) : f32[]\n%fixed = Sub(%z, %oo) : f32[]\n"
      "%x1 = Cast(%x" +
      cast + "[1,2,2]\n%r1 = Cast(%r" + cast +
      "[]\n"
      "%f1 = Cast(%fixed" +
      cast +
      "[]\n"
      "%m1 = Mul(%x1, %r1) : " +
      type + "[1,2,2]\n%a1 = Add(%m1, %f1) : " + type +
      "[1,2,2]\n%s1 = Cast(%a1) {to=1} : f32[1,2,2]\n%s2 = Cast(%s1" + cast +
      "[1,2,2]\n%a2 = Add(%m1, %s2) : " + type +
      "[1,2,2]\n"
      "%s = Cast(%a2) {to=1} : f32[1,2,2]\n%n = Round(%s) : f32[1,2,2]\n"
      "%k = Clip(%n, %low, %high) : f32[1,2,2]\n"
      "%y = Cast(%k) {to=2} : u8[1,2,2]");
}

TEST(FromIntegerOperators, LeavesSumsThatAreRoundedOnTheWay) {
  const Graph read = from_integer_operators(parse(sum_in("f64", "11")));
  EXPECT_EQ(read.node(*read.producer(read.outputs()[0])).op, "QuantizeLinear");
  expect_unchanged(sum_in("i32", "6"));
}

TEST(FromIntegerOperators, ReadASumWithTwoReadersAsOneProduct) {
  const Graph integer = parse(R"(
    graph "g" opset 17 (%x : u8[1,2] q(0.5, 3)) -> (%y, %z) {
      const %w : i8[2,2] q(0.25, 0) = [1, 2, 3, 4]
      %s = MatMul(%x, %w) : i32[1,2] q(0.125, 0)
      %y = Requantize(%s) {rounding="half_even"} : u8[1,2] q(0.5, 10)
      %z = Requantize(%s) {rounding="half_even"} : u8[1,2] q(0.25, 0)
    })");
  const Graph again = lower(from_qdq(from_integer_operators(to_integer_operators(integer))));
  EXPECT_EQ(structural_difference(integer, again), "") << print(again);
}

}  // namespace
}  // namespace tare::test
