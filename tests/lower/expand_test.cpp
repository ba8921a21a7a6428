#include "tare/execute.h"
#include "tare/graph.h"

#include "lower/affine_rewrites.h"
#include "support/random/fake_quantized.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Expands the body of a graph over %q, checks that it gives the same bytes, and returns it.
Graph expanded(const std::string& input, const std::string& body) {
  const Graph before =
      parse("graph \"g\" opset 17 (%q : " + input + ") -> (%out) {\n" + body + "\n}");
  Graph after = before;
  expand_affine_regions(after);
  for (unsigned seed = 0; seed < 5; ++seed) {
    const std::vector<Tensor> inputs = random_storage(before, seed);
    EXPECT_EQ(Executable(after).run(inputs), Executable(before).run(inputs)) << print(after);
  }
  return after;
}

/// The type of the result of the only node of that operator.
TensorType type_of(const Graph& graph, const std::string& op) {
  for (const NodeId id : graph.nodes()) {
    if (graph.node(id).op == op) {
      return graph.type(graph.node(id).outputs[0]);
    }
  }
  return {};
}

std::optional<int> axis_of(const Graph& graph, const std::string& op) {
  const TensorType type = type_of(graph, op);
  EXPECT_TRUE(type.quant.has_value()) << print(graph);
  return type.quant ? type.quant->axis : std::nullopt;
}

const std::string kPerChannel = "u8[2,3,4,5] q(axis=1, [1, 2, 3], [96, 114, 128])";

TEST(Expand, CarriesTheAxisOfChannelsDownThroughWhatMovesThem) {
  const std::string x = "%x = Dequantize(%q) : f32[2,3,4,5]\n";
  const std::string end = "%out = CumSum(%y, %a) : ";
  const std::string a = "const %a : i64[] = [0]\n";
  EXPECT_EQ(axis_of(expanded(kPerChannel,
                             a + x + "%y = Transpose(%x) {perm=[3, 0, 2, 1]} : f32[5,2,4,3]\n" +
                                 end + "f32[5,2,4,3]"),
                    "Transpose"),
            3);
  EXPECT_EQ(axis_of(expanded(kPerChannel, a + x +
                                              "const %s : i64[3] = [2, 3, 20]\n"
                                              "%y = Reshape(%x, %s) : f32[2,3,20]\n" +
                                              end + "f32[2,3,20]"),
                    "Reshape"),
            1);
  EXPECT_EQ(axis_of(expanded(kPerChannel, a + x +
                                              "const %s : i64[1] = [0]\n"
                                              "%y = Unsqueeze(%x, %s) : f32[1,2,3,4,5]\n" +
                                              end + "f32[1,2,3,4,5]"),
                    "Unsqueeze"),
            2);
}

TEST(Expand, CarriesTheAxisOfChannelsUpThroughWhatMovesThem) {
  const Graph graph = expanded("u8[2,3,4] q(0.5, 7)",
                               "const %a : i64[] = [0]\n%x = Dequantize(%q) : f32[2,3,4]\n"
                               "%n = CumSum(%x, %a) : f32[2,3,4]\n"
                               "%y = Transpose(%n) {perm=[1, 0, 2]} : f32[3,2,4]\n"
                               "%z = Quantize(%y) : u8[3,2,4] q(axis=0, [1, 2, 3], [9, 8, 7])\n"
                               "%out = Dequantize(%z) : f32[3,2,4]");
  EXPECT_EQ(axis_of(graph, "Transpose"), 0);
  EXPECT_EQ(axis_of(graph, "Quantize"), 1);
}

TEST(Expand, StopsWhereChannelsDoNotStayTogether) {
  const Graph graph = expanded(kPerChannel,
                               "const %a : i64[] = [0]\nconst %s : i64[2] = [6, 20]\n"
                               "%x = Dequantize(%q) : f32[2,3,4,5]\n"
                               "%y = Reshape(%x, %s) : f32[6,20]\n"
                               "%out = CumSum(%y, %a) : f32[6,20]");
  EXPECT_FALSE(type_of(graph, "Reshape").quant.has_value());
}

TEST(Expand, RectifiesAndClampsPerChannel) {
  const std::string x = "%x = Dequantize(%q) : f32[2,3,4,5]\n";
  const std::string end =
      "%z = Quantize(%y) : " + kPerChannel + "\n%out = Dequantize(%z) : f32[2,3,4,5]";
  EXPECT_EQ(axis_of(expanded(kPerChannel, x + "%y = Relu(%x) : f32[2,3,4,5]\n" + end), "Relu"),
            1);
  EXPECT_EQ(
      axis_of(expanded(kPerChannel, "const %l : f32[] = [0]\nconst %h : f32[] = [6]\n" + x +
                                        "%y = Clip(%x, %l, %h) : f32[2,3,4,5]\n" + end),
              "Clip"),
      1);
}

TEST(Expand, TakesOperandsPerChannel) {
  for (const char* op : {"Add", "Sub", "Mul", "Min", "Max"}) {
    const Graph graph =
        expanded(kPerChannel,
                 "const %w : i8[4,5] q(axis=1, [0.5, 1, 1.5, 2, 2.5], [0, 1, 0, 2, 0]) = "
                 "[1, 2, 3, 4, 5, -6, 7, 8, 9, 10, 11, 12, -13, 14, 15, 16, 17, 18, 19, 20]\n"
                 "%x = Dequantize(%q) : f32[2,3,4,5]\n%c = Dequantize(%w) : f32[4,5]\n%y = " +
                     std::string(op) +
                     "(%x, %c) : f32[2,3,4,5]\n"
                     "%z = Quantize(%y) : u8[2,3,4,5] q(4, 100)\n"
                     "%out = Dequantize(%z) : f32[2,3,4,5]");
    EXPECT_TRUE(type_of(graph, op).quant.has_value()) << print(graph);
  }
}

TEST(Expand, JoinsSumsAsStorageValues) {
  const Graph graph =
      expanded("i32[1,2] q(0.125, 0)",
               "%x = Dequantize(%q) : f32[1,2]\n%y = Concat(%x, %x) {axis=1} : f32[1,4]\n"
               "%out = Quantize(%y) : u8[1,4] q(2, 7)");
  EXPECT_TRUE(type_of(graph, "Concat").quant.has_value()) << print(graph);
}

TEST(Expand, MakesScalarsExactIntegers) {
  for (const char* number : {"0.3", "-1.7", "0", "1e30"}) {
    for (const char* op : {"Add", "Sub", "Mul", "Min", "Max"}) {
      for (const char* operands : {"(%x, %c)", "(%c, %x)"}) {
        const Graph graph =
            expanded("u8[2,8] q(0.125, 10)",
                     "const %c : f32[] = [" + std::string(number) +
                         "]\n%x = Dequantize(%q) : f32[2,8]\n%y = " + op + operands +
                         " : f32[2,8]\n"
                         "%z = Quantize(%y) : u8[2,8] q(0.0625, 20)\n"
                         "%out = Dequantize(%z) : f32[2,8]");
        EXPECT_TRUE(type_of(graph, op).quant.has_value()) << print(graph);
      }
    }
  }
}

TEST(Expand, LeavesConstantsThatNoStepExpresses) {
  const Graph graph = expanded("u8[2,2] q(0.125, 10)",
                               "const %c : f32[2] = [0.3, 7]\n"
                               "%x = Dequantize(%q) : f32[2,2]\n%y = Add(%x, %c) : f32[2,2]\n"
                               "%z = Quantize(%y) : u8[2,2] q(0.0625, 20)\n"
                               "%out = Dequantize(%z) : f32[2,2]");
  EXPECT_FALSE(type_of(graph, "Add").quant.has_value());
}

TEST(Expand, LetsPositionsBeReadOffStorageValues) {
  const Graph graph = expanded("i8[3,7] q(0.3, -5)",
                               "%x = Dequantize(%q) : f32[3,7]\n"
                               "%out = ArgMax(%x) {axis=1} : i64[3,1]");
  EXPECT_EQ(type_of(graph, "Dequantize").shape, Shape{}) << print(graph);
}

TEST(Expand, DoesNotRoundBeforePositionsAreFound) {
  const std::string body =
      "const %k : i64[1] = [2]\nconst %a : i64[] = [0]\n"
      "%x = Dequantize(%q) : f32[3,7]\n%n = CumSum(%x, %a) : f32[3,7]\n"
      "%v, %i = TopK(%n, %k) {axis=1} : f32[3,2], i64[3,2]\n"
      "%w = Quantize(%v) : i8[3,2] q(8, 0)\n%d = Dequantize(%w) : f32[3,2]\n";
  const Graph with_positions =
      expanded("i8[3,7] q(0.3, -5)", body +
                                         "%f = Cast(%i) {to=1} : f32[3,2]\n"
                                         "%out = Mul(%d, %f) : f32[3,2]");
  EXPECT_FALSE(type_of(with_positions, "TopK").quant.has_value()) << print(with_positions);
  const Graph values_only = expanded("i8[3,7] q(0.3, -5)", body + "%out = Neg(%d) : f32[3,2]");
  EXPECT_TRUE(type_of(values_only, "TopK").quant.has_value()) << print(values_only);
}

TEST(Expand, PadsWithTheRoundedNumber) {
  const std::string head = "const %p : i64[4] = [0, 1, 0, 1]\n%x = Dequantize(%q) : f32[2,4]\n";
  const std::string end =
      "%z = Quantize(%y) : u8[2,6] q(0.5, 10)\n%out = Dequantize(%z) : f32[2,6]";
  for (const char* number : {"0.3", "-3.4e38", "100"}) {
    const Graph graph =
        expanded("u8[2,4] q(0.5, 10)", "const %v : f32[] = [" + std::string(number) + "]\n" +
                                           head + "%y = Pad(%x, %p, %v) : f32[2,6]\n" + end);
    EXPECT_TRUE(type_of(graph, "Pad").quant.has_value());
  }
  // Where nobody asks for storage values, the number stays what it is.
  const Graph down = expanded("u8[2,4] q(0.5, 10)",
                              "const %v : f32[] = [0.3]\nconst %a : i64[] = [0]\n" + head +
                                  "%y = Pad(%x, %p, %v) : f32[2,6]\n"
                                  "%out = CumSum(%y, %a) : f32[2,6]");
  EXPECT_FALSE(type_of(down, "Pad").quant.has_value());
}

}  // namespace
}  // namespace tare::test
