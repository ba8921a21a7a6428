#include "lower/forms/channels_last.h"

#include "tare/execute.h"

#include "lower/forms/engine_wishes.h"
#include "lower/lower.h"
#include "support/graphs.h"
#include "support/same_structure.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// A convolution in float, one on integers that reads it, and the sum of both.
Graph block(const std::string& real =
                "%f = Conv(%x, %w) : f32[1,2,3,2]\n"
                "%h = Relu(%f) : f32[1,2,3,2]\n") {
  return parse(
      "graph \"g\" opset 17 (%x : f32[N=1,2,3,2]) -> (%y) {\n"
      "const %s : f32[] = [0.5]\nconst %z : u8[] = [3]\nconst %i : i8[] = [0]\n"
      "const %w : f32[2,2,1,1] = [1, 2, 3, -4]\nconst %v : i8[2,2,1,1] = [1, -2, 3, 4]\n" +
      real +
      "%q = QuantizeLinear(%h, %s, %z) : u8[1,2,3,2]\n"
      "%d = DequantizeLinear(%q, %s, %z) : f32[1,2,3,2]\n"
      "%e = DequantizeLinear(%v, %s, %i) : f32[2,2,1,1]\n"
      "%p = Conv(%d, %e) : f32[1,2,3,2]\n"
      "%r = QuantizeLinear(%p, %s, %z) : u8[1,2,3,2]\n"
      "%t = DequantizeLinear(%r, %s, %z) : f32[1,2,3,2]\n"
      "%a = Add(%t, %d) : f32[1,2,3,2]\n"
      "%b = QuantizeLinear(%a, %s, %z) : u8[1,2,3,2]\n"
      "%y = DequantizeLinear(%b, %s, %z) : f32[1,2,3,2]\n}");
}

Tensor image() {
  std::vector<float> elements(12);
  std::iota(elements.begin(), elements.end(), -3.0F);
  return Tensor::of<float>({1, 2, 3, 2}, elements);
}

TEST(QuantizeChannelsLast, MovesElementsAndChangesNone) {
  const Graph plain = block();
  const Graph spelled = quantize_channels_last(plain);
  EXPECT_EQ(count_of(spelled, "Transpose"), 2U);
  EXPECT_EQ(count_of(spelled, "Flatten"), 1U);
  const Tensor x = image();
  EXPECT_EQ(Executable(spelled).run(std::span(&x, 1)), Executable(plain).run(std::span(&x, 1)));
}

TEST(QuantizeChannelsLast, IsReadAsTheConversionThatItIs) {
  const Graph plain = block();
  const Graph spelled = quantize_channels_last(plain);
  EXPECT_EQ(structural_difference(plain, read_channels_last(spelled)), "");
  EXPECT_EQ(structural_difference(lower(from_qdq(plain)), lower(from_qdq(spelled))), "");
}

/// ONNX Runtime pools integers with channels first ten times as slowly as real values, and
/// would round before this pool.
TEST(QuantizeChannelsLast, IsForVolumesAsWell) {
  const Graph plain = parse(
      "graph \"g\" opset 17 (%x : f32[N=1,2,2,3,2]) -> (%y) {\n"
      "const %s : f32[] = [0.5]\nconst %z : u8[] = [3]\nconst %i : i8[] = [0]\n"
      "const %w : f32[2,2,1,1,1] = [1, 2, 3, -4]\n"
      "const %v : i8[2,2,1,1,1] = [1, -2, 3, 4]\n"
      "%f = Conv(%x, %w) : f32[1,2,2,3,2]\n"
      "%h = MaxPool(%f) {kernel_shape = [1, 2, 1]} : f32[1,2,2,2,2]\n"
      "%q = QuantizeLinear(%h, %s, %z) : u8[1,2,2,2,2]\n"
      "%d = DequantizeLinear(%q, %s, %z) : f32[1,2,2,2,2]\n"
      "%e = DequantizeLinear(%v, %s, %i) : f32[2,2,1,1,1]\n"
      "%p = Conv(%d, %e) : f32[1,2,2,2,2]\n"
      "%r = QuantizeLinear(%p, %s, %z) : u8[1,2,2,2,2]\n"
      "%y = DequantizeLinear(%r, %s, %z) : f32[1,2,2,2,2]\n}");
  const Graph spelled = quantize_channels_last(plain);
  EXPECT_EQ(count_of(spelled, "Transpose"), 2U);
  std::vector<float> elements(24);
  std::iota(elements.begin(), elements.end(), -9.0F);
  const Tensor x = Tensor::of<float>({1, 2, 2, 3, 2}, elements);
  EXPECT_EQ(Executable(spelled).run(std::span(&x, 1)), Executable(plain).run(std::span(&x, 1)));
  EXPECT_EQ(structural_difference(plain, read_channels_last(spelled)), "");
}

TEST(QuantizeChannelsLast, LeavesTheBatchOpen) {
  const Graph spelled = quantize_channels_last(block());
  for (const NodeId id : spelled.nodes()) {
    if (spelled.node(id).op == "Reshape") {
      EXPECT_EQ(spelled.constant(spelled.node(id).inputs[1])->to_int64(),
                (std::vector<std::int64_t>{-1, 3, 2, 2}));
    }
  }
}

/// As in a block of several pools whose results are concatenated.
TEST(QuantizeChannelsLast, IsForPoolsOnIntegersAsWell) {
  const Graph pooled = parse(
      "graph \"g\" opset 17 (%x : f32[N=1,2,3,2]) -> (%y) {\n"
      "const %s : f32[] = [0.5]\nconst %z : u8[] = [3]\n"
      "const %w : f32[2,2,1,1] = [1, 2, 3, -4]\n"
      "%f = Conv(%x, %w) : f32[1,2,3,2]\n"
      "%q = QuantizeLinear(%f, %s, %z) : u8[1,2,3,2]\n"
      "%d = DequantizeLinear(%q, %s, %z) : f32[1,2,3,2]\n"
      "%p = MaxPool(%d) {kernel_shape=[3, 3], pads=[1, 1, 1, 1]} : f32[1,2,3,2]\n"
      "%r = QuantizeLinear(%p, %s, %z) : u8[1,2,3,2]\n"
      "%y = DequantizeLinear(%r, %s, %z) : f32[1,2,3,2]\n}");
  const Graph spelled = quantize_channels_last(pooled);
  EXPECT_EQ(count_of(spelled, "Transpose"), 2U);
  const Tensor x = image();
  EXPECT_EQ(Executable(spelled).run(std::span(&x, 1)),
            Executable(pooled).run(std::span(&x, 1)));
}

/// Such a pool in float runs on blocks of channels, whatever computed what it reads.
TEST(QuantizeChannelsLast, IsForPoolsInFloatBesideTheResultOfAConvolution) {
  const auto transposed = [](const std::string& channels, const std::string& last) {
    const std::string small = "[1," + channels + ",2,2]";
    const Graph graph =
        parse("graph \"g\" opset 17 (%x : f32[N=1," + channels + ",4,4], %o : u8" + small +
              ") -> (%y) {\n"
              "const %s : f32[] = [0.5]\nconst %z : u8[] = [3]\n"
              "%p = MaxPool(%x) {kernel_shape=[2, 2], strides=[2, 2]} : f32" +
              small + "\n%q = QuantizeLinear(%p, %s, %z) : u8" + small +
              "\n%d = DequantizeLinear(%q, %s, %z) : f32" + small +
              "\n%e = DequantizeLinear(%o, %s, %z) : f32" + small + "\n" + last + " : f32" +
              small + "\n}");
    return count_of(quantize_channels_last(graph), "Transpose");
  };
  EXPECT_EQ(transposed("16", "%y = Add(%d, %e)"), 2U);
  EXPECT_EQ(transposed("12", "%y = Add(%d, %e)"), 0U) << "no whole blocks";
  EXPECT_EQ(transposed("16", "%y = Mul(%d, %e)"), 0U);
}

/// A PRelu is written as a Max. Without a pool the transpositions cost more than they save.
TEST(QuantizeChannelsLast, IsForAPooledPReluOfAConvolution) {
  const std::string maximum =
      "%f = Conv(%x, %w) : f32[1,2,3,2]\n%m = Max(%f, %g) : f32[1,2,3,2]\n";
  const std::string other = "const %g : f32[] = [0.5]\n";
  EXPECT_EQ(count_of(quantize_channels_last(block(other + maximum +
                                                  "%h = MaxPool(%m) {kernel_shape=[3, 3], "
                                                  "pads=[1, 1, 1, 1]} : f32[1,2,3,2]\n")),
                     "Transpose"),
            2U);
  EXPECT_EQ(count_of(quantize_channels_last(
                         block(other + maximum + "%h = Relu(%m) : f32[1,2,3,2]\n")),
                     "Transpose"),
            0U);
}

TEST(QuantizeChannelsLast, IsForWhatConvolutionsInFloatComputed) {
  const Graph of_input = block("%h = Relu(%x) : f32[1,2,3,2]\n");
  EXPECT_EQ(count_of(quantize_channels_last(of_input), "Transpose"), 0U);
}

TEST(QuantizeChannelsLast, IsForImagesWhoseExtentsAreKnown) {
  Graph open = block();
  open.dimension_names["x"] = {"N", "", "height", ""};
  EXPECT_EQ(count_of(quantize_channels_last(open), "Transpose"), 0U);
}

/// Layouts that a file had itself.
TEST(ReadChannelsLast, LeavesOtherTranspositions) {
  const Graph other = parse(
      "graph \"g\" opset 17 (%x : f32[1,2,3,2]) -> (%y) {\n"
      "const %s : f32[] = [0.5]\nconst %z : u8[] = [3]\nconst %n : i64[4] = [1, 2, 3, 2]\n"
      "%t = Transpose(%x) {perm=[0, 2, 3, 1]} : f32[1,3,2,2]\n"
      "%q = QuantizeLinear(%t, %s, %z) : u8[1,3,2,2]\n"
      "%r = Reshape(%q, %n) : u8[1,2,3,2]\n"
      "%y = Transpose(%r) {perm=[0, 3, 1, 2]} : u8[1,2,2,3]\n}");
  EXPECT_EQ(read_channels_last(other), other);
}

Graph padded(int opset, const std::string& zero_behind, const std::string& value = "") {
  return parse("graph \"g\" opset " + std::to_string(opset) +
               " (%x : f32[1,2]) -> (%y) {\n"
               "const %s : f32[] = [0.5]\nconst %z : u8[] = [3]\nconst %o : u8[] = [4]\n"
               "const %n : i64[4] = [0, 1, 0, 2]\nconst %v : f32[] = [1.2]\n"
               "%q = QuantizeLinear(%x, %s, %z) : u8[1,2]\n"
               "%d = DequantizeLinear(%q, %s, %z) : f32[1,2]\n"
               "%p = Pad(%d, %n" +
               value +
               ") : f32[1,5]\n"
               "%y = QuantizeLinear(%p, %s, " +
               zero_behind + ") : u8[1,5]\n}");
}

TEST(PadStorage, PutsTheSameIntegersAround) {
  const Tensor x = Tensor::of<float>({1, 2}, std::vector<float>{-1, 7});
  for (const char* value : {"", ", %v"}) {
    const Graph plain = padded(13, "%z", value);
    const Graph direct = pad_storage(plain);
    EXPECT_EQ(count_of(direct, "DequantizeLinear"), 0U);
    const auto results = Executable(direct).run(std::span(&x, 1));
    EXPECT_EQ(results, Executable(plain).run(std::span(&x, 1)));
    EXPECT_EQ(structural_difference(lower(from_qdq(plain)), lower(from_qdq(direct))), "");
  }
}

TEST(PadStorage, KeepsConversionsThatRescaleAndFormsThatPadFloatsOnly) {
  EXPECT_EQ(count_of(pad_storage(padded(13, "%o")), "DequantizeLinear"), 1U);
  EXPECT_EQ(count_of(pad_storage(padded(12, "%z")), "DequantizeLinear"), 1U);
}

TEST(PadStorage, KeepsConversionsOf16Bits) {
  std::string text = print(padded(21, "%z"));
  for (std::size_t at = text.find("u8"); at != std::string::npos; at = text.find("u8")) {
    text.replace(at, 2, "u16");
  }
  EXPECT_EQ(count_of(pad_storage(parse(text)), "DequantizeLinear"), 1U);
}

}  // namespace
}  // namespace tare::test
