#include "tare/config.h"
#include "tare/lint.h"

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

}  // namespace
}  // namespace tare::test
