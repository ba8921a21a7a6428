#include "tare/error.h"
#include "tare/graph.h"

#include "support/message.h"
#include "support/random/random_graph.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// What parse says about `text`.
std::string complaint(const std::string& text) {
  return message_of([&] { return parse(text); }, ErrorCode::kInvalidModel);
}

/// A graph whose body is `body` and whose output is the constant %c.
std::string with_body(const std::string& body) {
  return "graph \"g\" opset 13 () -> (%c) {\nconst %c : i8[1] = [1]\n" + body + "\n}\n";
}

Graph small_graph() {
  Graph graph;
  graph.graph_name = "digits";
  graph.opset = 13;
  const ValueId image = graph.add_input("image", {.shape = {1, 1, 4, 4}});
  const QuantParams weight{.storage = DType::kInt8,
                           .scale = {0.5F, 0.25F},
                           .zero_point = {0, 0},
                           .axis = 0,
                           .narrow_range = true};
  const ValueId w = graph.add_constant(
      "w", Tensor::of<std::int8_t>({2, 1, 1, 1}, std::vector<std::int8_t>{-127, 3}),
      {.dtype = DType::kInt8, .shape = {2, 1, 1, 1}, .quant = weight});
  const QuantParams u8{.storage = DType::kUint8, .scale = {0.0235F}, .zero_point = {114}};
  const NodeId quantize = graph.add_node(
      "", "Quantize", {image},
      {{"image/q", {.dtype = DType::kUint8, .shape = {1, 1, 4, 4}, .quant = u8}}});
  const NodeId conv = graph.add_node(
      "stem", "Conv", {graph.node(quantize).outputs[0], w, ValueId{}},
      {{"logits", {.dtype = DType::kInt32, .shape = {1, 2, 4, 4}, .point = "stem relu"}}},
      {{"strides", std::vector<std::int64_t>{1, 1}}, {"alpha", 1.0F}});
  graph.set_outputs({graph.node(conv).outputs[0]});
  graph.dimension_names["image"] = {"batch", "", "", ""};
  return graph;
}

TEST(Print, ReadsWell) {
  EXPECT_EQ(print(small_graph()),
            R"(graph "digits" opset 13 (%image : f32[batch=1,1,4,4]) -> (%logits) {
  const %w : i8[2,1,1,1] q(axis=0, [0.5, 0.25], [0, 0], narrow) = [-127, 3]
  %image/q = Quantize(%image) : u8[1,1,4,4] q(0.0235, 114)
  stem: %logits = Conv(%image/q, %w, _) {alpha=1.0, strides=[1, 1]} : i32[1,2,4,4] @"stem relu"
}
)");
}

TEST(Print, NamesTheBitsThatIntegersUse) {
  const std::string text =
      "graph \"g\" opset 17 (%x : i8[2] q(0.5, 3, narrow, bits=4)) -> (%x) {\n}\n";
  EXPECT_EQ(print(parse(text)), text);
  EXPECT_EQ(parse(text).type(parse(text).inputs()[0]).quant->bits, 4);
}

TEST(Print, NamesTheBlocksThatShareScales) {
  const std::string text =
      "graph \"g\" opset 17 (%x : i8[3,2] q(axis=0, block=2, [0.5, 1, 2, 4], [0, 1, 2, 3], "
      "bits=4)) -> (%x) {\n}\n";
  EXPECT_EQ(print(parse(text)), text);
  EXPECT_EQ(parse(text).type(parse(text).inputs()[0]).quant->block, 2);
  const auto with = [](const std::string& params) {
    return complaint("graph \"g\" opset 17 (%x : i8[3,2] q(axis=0, " + params +
                     ")) -> (%x) {\n}\n");
  };
  EXPECT_NE(with("block=2, [0.5, 1], [0, 0]").find("2 scales"), std::string::npos);
  EXPECT_NE(with("block=-2, [0.5, 1], [0, 0]").find("blocks of -2"), std::string::npos);
  EXPECT_NE(complaint("graph \"g\" opset 17 (%x : i8[4294967296,4294967296] "
                      "q(axis=0, block=2, [1], [0])) -> (%x) {\n}\n")
                .find("2^40 at most"),
            std::string::npos);
}

TEST(Print, NamesTheStorageTypeThatFloatsStandFor) {
  const std::string text = "graph \"g\" opset 17 (%x : f32[2] u8 q(0.5, 3) @p) -> (%x) {\n}\n";
  EXPECT_EQ(print(parse(text)), text);
  EXPECT_EQ(parse(text).type(parse(text).inputs()[0]).quant->storage, DType::kUint8);
}

TEST(Print, ElidesWhatIsLongerThanAsked) {
  EXPECT_NE(print(small_graph(), 1).find("q(axis=0, ..., ..., narrow) = ...\n"),
            std::string::npos);
  EXPECT_EQ(print(small_graph(), 2), print(small_graph()));
}

TEST(Print, WrapsLongConstants) {
  Graph graph;
  const std::vector<std::int64_t> values(100, 123456789);
  graph.set_outputs({graph.add_constant("c", Tensor::of<std::int64_t>({100}, values))});
  std::istringstream lines(print(graph));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 97U) << line;  // the width and one separator
  }
}

TEST(Text, RoundTripsEveryRandomGraph) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const Graph graph = RandomGraph(seed).draw();
    ASSERT_NO_THROW(verify(graph)) << "seed " << seed;
    const std::string text = print(graph);
    try {
      const Graph again = parse(text);
      ASSERT_TRUE(again == graph) << "seed " << seed << '\n' << text;
      ASSERT_EQ(print(again), text);
    } catch (const Error& error) {
      FAIL() << "seed " << seed << ": " << error.what() << '\n' << text;
    }
  }
}

template <class T>
void expect_bits_kept(const std::vector<T>& values) {
  Graph graph;
  const auto count = static_cast<std::int64_t>(values.size());
  graph.set_outputs({graph.add_constant("c", Tensor::of<T>({count}, values))});
  EXPECT_TRUE(parse(print(graph)) == graph) << print(graph);
}

TEST(Text, KeepsTheBitsOfSpecialNumbers) {
  using F = std::numeric_limits<float>;
  using D = std::numeric_limits<double>;
  expect_bits_kept<float>({-0.0F, 0.0F, F::quiet_NaN(), -F::quiet_NaN(), F::infinity(),
                           -F::infinity(), F::denorm_min(), F::min(), F::max(), F::lowest(),
                           0.1F, std::bit_cast<float>(0x7F800001U),
                           std::bit_cast<float>(0xFFFFFFFFU)});
  expect_bits_kept<double>({-0.0, D::quiet_NaN(), -D::quiet_NaN(), D::infinity(),
                            D::denorm_min(), D::min(), D::max(), D::lowest(), 0.1,
                            std::bit_cast<double>(0x7FF0000000000001U)});
  expect_bits_kept<std::int64_t>({INT64_MIN, INT64_MAX, 0, -1});
  expect_bits_kept<std::uint64_t>({0, UINT64_MAX});
}

TEST(Text, KeepsTheBitsOfEveryFloatOf16Bits) {
  for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) {
    Tensor all(dtype, {65536});
    for (std::uint32_t i = 0; i < 65536; ++i) {
      const auto bits = static_cast<std::uint16_t>(i);
      std::memcpy(all.mutable_data() + 2 * static_cast<std::size_t>(i), &bits, 2);
    }
    Graph graph;
    graph.set_outputs({graph.add_constant("c", all)});
    EXPECT_TRUE(parse(print(graph)) == graph);
  }
}

TEST(Text, KeepsNanAttributes) {
  const Graph graph = parse(with_body("%y = Op() {a=nan, b=[nan(0x7fc00001), -0.0]} : f32[]"));
  const Attributes& attributes = graph.node(*graph.find_node("y")).attributes;
  EXPECT_TRUE(std::isnan(attributes.real("a")));
  const auto list = attributes.reals("b", {});
  EXPECT_EQ(std::bit_cast<std::uint32_t>(list.at(0)), 0x7FC00001U);
  EXPECT_TRUE(std::signbit(list.at(1)));
}

TEST(Text, KeepsDimensionNamesThatTypesCannotCarry) {
  Graph graph = small_graph();
  graph.dimension_names["logits"] = {"", "", "", ""};
  graph.dimension_names["gone"] = {"_", "1"};
  graph.dimension_names["w"] = {"other rank"};
  const std::string text = print(graph);
  EXPECT_NE(text.find("dims %gone [\"_\", 1]\n"), std::string::npos) << text;
  EXPECT_TRUE(parse(text) == graph) << text;
}

TEST(Parse, ReadsTheExampleOfTheDocumentation) {
  std::ifstream file(TARE_SOURCE_DIR "/docs/textual_ir.md");
  std::stringstream content;
  content << file.rdbuf();
  const std::string page = content.str();
  const std::string fence = "```tare\n";
  const std::size_t start = page.find(fence);
  ASSERT_NE(start, std::string::npos);
  const std::size_t end = page.find("```", start + fence.size());
  const std::string example = page.substr(start + fence.size(), end - start - fence.size());
  const Graph graph = parse(example);
  EXPECT_NO_THROW(verify(graph));
  EXPECT_EQ(print(graph), example) << "the example is not as print writes it";
}

TEST(Parse, SkipsCommentsAndBlanks) {
  EXPECT_EQ(complaint("# top\ngraph\"g\"opset 1()->(%c){const%c:u8[]=[7]#end\n}  # done"),
            "no error");
}

TEST(Parse, ALabelMayBeCalledLikeAKeyword) {
  EXPECT_EQ(complaint(with_body("const: %a = A() : u8[]\n"
                                "dims: %b = B() : u8[]\n"
                                "q: %d = D() : u8[]\n"
                                "\"\": %e = E() : u8[]")),
            "no error");
}

struct Case {
  std::string body;
  std::string said;
};

TEST(Parse, SaysWhereAndWhatForEveryFault) {
  // The body starts in line 3.
  const std::vector<Case> cases{
      {"%y = Op(%x) : f32[]", "3:9: value 'x' is not defined"},
      {"%c = Op() : f32[]", "3:1: value 'c' is defined already"},
      {"%y = Op(%y) : f32[]", "3:9: value 'y' is not defined"},
      {"n: %a = Op() : f32[]\n n: %b = Op() : f32[]", "4:2: two nodes are named 'n'"},
      {"%a, %a = Op() : f32[], f32[]", "3:1: two values are named 'a'"},
      {"%y = Op() : f33[]", "3:13: unknown element type 'f33'"},
      {"%y = Op() : f32[-1]", "3:13: has shape [-1], expected extents of 0 or more"},
      {"%y = Op() : f32[4294967296,4294967296]",
       "3:13: has shape [4294967296,4294967296], expected extents whose product is 2^40 at "
       "most"},
      {"const %k : f32[1000000,100000] = [1, 2]",
       "3:34: 2 elements for shape [1000000,100000], expected 100000000000"},
      {"const %k : u8[2] = [1, 256]", "3:24: found \"256\", expected an element of type u8"},
      {"const %k : f32[1] = [1e39]", "3:22: found \"1e39\", expected an element of type f32"},
      {"const %k : f16[1] = [65520]", "3:22: found \"65520\", expected an element of type f16"},
      {"const %k : f32[1] = [nan(0x7f800000)]",
       "3:22: found \"nan(0x7f800000)\", expected an element of type f32"},
      {"const %k : bool[1] = [2]", "3:23: found \"2\", expected an element of type bool"},
      {"const %k : i8[1] q(0, 0) = [2]", "3:12: has scale 0, expected a finite scale above 0"},
      {"const %k : i8[1] q(1, 200) = [2]",
       "3:12: has zero point 200, expected one within [-128,127]"},
      {"const %k : f32[1] q(1, 0) = [2]",
       "3:12: is quantized to f32, expected i8, u8, i16, u16 or i32, or i64 for sums"},
      {"const %k : f32[1] u8 q(1, 0) = [2]", "3:12: holds f32, expected its storage type u8"},
      {"const %k : f32[1] f7 q(1, 0) @p = [2]", "3:19: unknown element type 'f7'"},
      {"const %k : i8[2] q(axis=0, [1], [0]) = [1, 2]",
       "3:12: has 1 scales and 1 zero points, expected 2 of each"},
      {"const %k : i8[2] q(axis=1, [1], [0]) = [1, 2]",
       "3:12: quantization axis 1 is outside of shape [2]"},
      {"%y = \"\"() : f32[]", "3:6: the name of an operator is empty"},
      {"%y = Op() {a=1, a=2} : f32[]", "3:17: attribute 'a' is given twice"},
      {"%y = Op() {a=[1, 2.5]} : f32[]", "3:18: found \"2.5\", expected an integer"},
      {"%y = Op() {a=99999999999999999999} : f32[]",
       "3:14: found \"99999999999999999999\", expected an integer"},
      {"%y = Op() {a=\"open} : f32[]", "3:14: this quote is never closed"},
      {"%y = Op() {a=\"\\q\"} : f32[]",
       "3:15: unknown escape, expected \\\", \\\\, \\n or \\x and two hexadecimal digits"},
      {"const %k : f32[9] = ...",
       "3:21: values are elided here\n"
       "  hint: text with elided values is for people; print the graph in full"},
      {"%y = Op()", "4:1: found \"}\", expected ':'"},
      {"%y, %z = Op() : f32[]", "4:1: found \"}\", expected ','"},
      {"word", "4:1: found \"}\", expected ':' after the name of a node"},
      {"} %", "3:3: found \"%\", expected nothing after the graph"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(complaint(with_body(c.body)), c.said) << c.body;
  }
}

TEST(Parse, RefusesAGraphThatIsNotWhole) {
  EXPECT_EQ(complaint(""), "1:1: found the end of the text, expected 'graph'");
  EXPECT_EQ(complaint("graph \"g\" opset 1 () -> () {}"), "the graph has no outputs");
  EXPECT_EQ(complaint("graph \"g\" opset 1 () -> (%y) {}"), "1:26: value 'y' is not defined");
  const std::string whole = print(small_graph());
  for (std::size_t size = 0; size + 1 < whole.size(); ++size) {
    EXPECT_NE(complaint(whole.substr(0, size)), "no error") << whole.substr(0, size);
  }
}

TEST(Parse, AnyMutationIsAGraphOrAnError) {
  // No crash, no foreign exception, no memory beyond the text's own size.
  RandomGraph random(7);
  for (int round = 0; round < 300; ++round) {
    const std::string whole = print(random.draw());
    for (int mutation = 0; mutation < 20; ++mutation) {
      std::string text = whole;
      for (std::size_t changes = 1 + random.below(3); changes > 0 && !text.empty(); --changes) {
        const std::size_t at = random.below(text.size());
        switch (random.below(4)) {
          case 0:
            text[at] = static_cast<char>(random.below(256));
            break;
          case 1:
            text.erase(at, 1 + random.below(5));
            break;
          case 2:
            text.insert(at, text.substr(random.below(text.size()), 1 + random.below(9)));
            break;
          default:
            text.insert(at, 1, "0123456789[]{}()\"\\%,=_q@.-"[random.below(26)]);
            break;
        }
      }
      try {
        const Graph graph = parse(text);
        EXPECT_NO_THROW(verify(graph)) << text;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kInvalidModel) << error.what();
      }
    }
  }
}

TEST(QuantParamsText, NamesScaleZeroPointAxisAndNarrowness) {
  EXPECT_EQ(
      to_string(QuantParams{.storage = DType::kUint8, .scale = {0.0235F}, .zero_point = {114}}),
      "q(0.0235, 114)");
  EXPECT_EQ(to_string(QuantParams{
                .scale = {0.1F, 0.2F}, .zero_point = {0, 0}, .axis = 1, .narrow_range = true}),
            "q(axis=1, [0.1, 0.2], [0, 0], narrow)");
}

}  // namespace
}  // namespace tare::test
