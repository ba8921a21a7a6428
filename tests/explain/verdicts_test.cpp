#include "tare/config.h"
#include "tare/integer_graph.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

TEST(Verdicts, OfWhatActsOnStorageWithoutConversionsAreThoseOfIntegers) {
  const Graph file = parse(
      "graph \"g\" opset 17 (%x : f32[1,2]) -> (%y) {\n"
      "const %s : f32[] = [0.5]\nconst %z : u8[] = [3]\nconst %n : i64[4] = [0, 1, 0, 2]\n"
      "%q = QuantizeLinear(%x, %s, %z) : u8[1,2]\n"
      "pad: %p = Pad(%q, %n, %z) : u8[1,5]\n"
      "%y = DequantizeLinear(%p, %s, %z) : f32[1,5]\n}");
  const std::vector<Verdict> all = verdicts(file, read_target("ort-cpu"));
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].node, "pad");
  EXPECT_EQ(all[0].runs_as, "Pad");
}

TEST(Verdicts, OfAUnitAreThatADeviceWithUnitsRunsIt) {
  const Graph file = parse(
      "graph \"g\" opset 17 (%x : i8[1,2]) -> (%y) {\n"
      "unit: %y = Region(%x) {op_type=\"DoubleRelu\", body=\"graph \\\"b\\\" opset 17 "
      "(%a : i8[1,2]) -> (%b) {\\n%b = Relu(%a) : i8[1,2]\\n}\"} : i8[1,2]\n}");
  Target target = read_target("ort-cpu");
  EXPECT_EQ(verdicts(file, target).at(0).because, "the target has no such unit");
  target.units = {{.name = "double_relu", .pattern = "Relu(Relu)"}};
  const Verdict verdict = verdicts(file, target).at(0);
  EXPECT_EQ(verdict.because, "");
  EXPECT_EQ(verdict.op, "DoubleRelu");
  EXPECT_EQ(verdict.runs_as, "DoubleRelu");
}

}  // namespace
}  // namespace tare::test
