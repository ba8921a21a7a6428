// Averages of integers whose halves go away from one of them, and how files say it.
#include "tare/config.h"
#include "tare/execute.h"
#include "tare/integer_graph.h"
#include "tare/quantize.h"

#include "graph/arithmetic/node_arithmetic.h"
#include "lower/forms/forms.h"
#include "lower/lower.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// One average for each image of that many taps.
Graph averages(const std::string& storage, std::int64_t images, std::int64_t taps, int centre) {
  const std::string type = " q(0.1, 5)";
  const std::string count = std::to_string(images);
  return parse("graph \"g\" opset 17 (%x : " + storage + "[" + count + ",1,1," +
               std::to_string(taps) + "]" + type + ") -> (%y) {\n%y = AveragePool(%x) {" +
               "tie_breaking_point=" + std::to_string(centre) + ", kernel_shape=[1," +
               std::to_string(taps) + "]} : " + storage + "[" + count + ",1,1,1]" + type +
               "\n}");
}

std::optional<std::int32_t> centre_in(const Graph& integer) {
  for (const NodeId id : integer.nodes()) {
    if (integer.node(id).op == "AveragePool") {
      return tie_breaking_point(integer.node(id).attributes);
    }
  }
  ADD_FAILURE() << "no average";
  return std::nullopt;
}

/// Around every half there is in that many taps: images, and their averages.
template <class T>
struct AroundHalves {
  AroundHalves(std::int64_t taps, int centre) {
    for (int low = std::numeric_limits<T>::min(); low < std::numeric_limits<T>::max(); ++low) {
      for (const std::int64_t above : {taps / 2 - 1, taps / 2, taps / 2 + 1}) {
        for (std::int64_t i = 0; i < taps; ++i) {
          images.push_back(static_cast<T>(i < above ? low + 1 : low));
        }
        const bool is_up = 2 * above == taps ? low >= centre : 2 * above > taps;
        averages.push_back(static_cast<T>(is_up ? low + 1 : low));
      }
    }
  }

  std::vector<T> images;
  std::vector<T> averages;
};

template <class T>
void expect_exact_in_every_form(const std::string& storage, std::int64_t taps, int centre) {
  const AroundHalves<T> around(taps, centre);
  const auto count = static_cast<std::int64_t>(around.averages.size());
  const Graph integer = averages(storage, count, taps, centre);
  const Tensor images = Tensor::of<T>({count, 1, 1, taps}, around.images);
  const std::vector<Tensor> wanted{Tensor::of<T>({count, 1, 1, 1}, around.averages)};
  EXPECT_EQ(Executable(integer).run(std::span(&images, 1)), wanted);
  for (const Form form : {Form::kQdq, Form::kQoperator, Form::kInteger}) {
    const Graph spelled = export_form(integer, form);
    EXPECT_EQ(Executable(spelled).run(std::span(&images, 1)), wanted)
        << "form " << static_cast<int>(form) << ", " << taps << " taps of " << storage;
    EXPECT_EQ(centre_in(lower_quantized(spelled, {}, Toolkit{})), centre)
        << "form " << static_cast<int>(form);
  }
}

TEST(IntegerAverages, BreakTiesAwayFromTheirCentreInEveryForm) {
  for (const std::int64_t taps : {2, 6, 64, 1024}) {
    expect_exact_in_every_form<std::uint8_t>("u8", taps, 0);
    expect_exact_in_every_form<std::uint8_t>("u8", taps, 128);
    expect_exact_in_every_form<std::int8_t>("i8", taps, 0);
  }
}

TEST(IntegerAverages, OfLargerWindowsAreThoseOfOnnxInFiles) {
  const Graph integer = averages("u8", 1, 1026, 128);
  EXPECT_EQ(centre_in(lower_quantized(to_qdq(integer), {}, Toolkit{})), std::nullopt);
}

/// An average between others, whose parameters it has.
constexpr const char* kBetween =
    "graph \"g\" opset 17 (%x : f32[1,1,1,4]) -> (%y) {\n"
    "const %s : f32[] = [0.25]\nconst %z : u8[] = [9]\n"
    "const %one : f32[] = [1]\nconst %less : f32[] = [%LESS%]\nconst %c : u8[] = [128]\n"
    "%q = QuantizeLinear(%x, %s, %z) : u8[1,1,1,4]\n"
    "%i = DequantizeLinear(%q, %one, %c) : f32[1,1,1,4]\n"
    "%a = AveragePool(%i) {kernel_shape=[1,2]} : f32[1,1,1,3]\n"
    "%r = QuantizeLinear(%a, %less, %c) : u8[1,1,1,3]\n"
    "%y = DequantizeLinear(%r, %s, %z) : f32[1,1,1,3]\n}";

Graph between(const std::string& less) {
  std::string text = kBetween;
  const std::string place = "%LESS%";
  text.replace(text.find(place), place.size(), less);
  return parse(text);
}

TEST(IntegerAverages, HaveTheParametersOfTheirNeighbours) {
  const Graph integer = lower(from_qdq(between("0.99999905")));
  EXPECT_EQ(centre_in(integer), 128);
  for (const char* name : {"q", "r"}) {
    const auto& params = integer.type(*integer.find_value(name)).quant;
    ASSERT_TRUE(params);
    EXPECT_EQ(params->scale, std::vector<float>{0.25F});
    EXPECT_EQ(params->zero_point, std::vector<std::int32_t>{9});
  }
}

TEST(IntegerAverages, AreOnlyThoseWhoseParametersSayIt) {
  const Graph graph = from_qdq(between("0.99999"));
  EXPECT_EQ(centre_in(graph), std::nullopt);
  const Tensor x = Tensor::of<float>({1, 1, 1, 4}, std::vector<float>{1, 2, 3.25F, 4});
  EXPECT_EQ(Executable(graph).run(std::span(&x, 1)),
            Executable(between("0.99999")).run(std::span(&x, 1)));
}

TEST(IntegerAverages, MoveWithTheirStorage) {
  const AroundHalves<std::int8_t> around(2, 0);
  const auto count = static_cast<std::int64_t>(around.averages.size());
  const Graph integer = averages("i8", count, 2, 0);
  const Graph moved = for_target(integer, read_target("ort-cpu"));
  EXPECT_EQ(centre_in(moved), 128);
  const Tensor images = Tensor::of<std::int8_t>({count, 1, 1, 2}, around.images);
  EXPECT_EQ(Executable(moved).run(std::span(&images, 1)),
            Executable(integer).run(std::span(&images, 1)));
}

TEST(IntegerAverages, AreLeftToTargetsThatDoNotAverageInFloat) {
  EXPECT_EQ(centre_in(for_target(averages("i8", 1, 2, 0), read_target("tensorrt"))),
            std::nullopt);
}

/// An average behind something that is written with its parameters.
Graph average_of_sum(const std::string& attribute) {
  return parse(
      "graph \"g\" opset 17 (%x : i8[1,1,1,2] q(0.1, 5)) -> (%y) {\n"
      "%s = Add(%x, %x) : i8[1,1,1,2] q(0.2, 5)\n"
      "%y = AveragePool(%s) {" +
      attribute + "kernel_shape=[1,2]} : i8[1,1,1,1] q(0.2, 5)\n}");
}

TEST(IntegerAverages, OfTensorFlowLiteGoAwayFromZero) {
  const Graph plain = average_of_sum("");
  EXPECT_EQ(centre_in(with_numerics(plain, Numerics::kOnnx)), std::nullopt);
  EXPECT_EQ(centre_in(with_tflite_averages(plain)), 0);
  for (const Numerics numerics :
       {Numerics::kTfliteRef, Numerics::kTfliteBuiltin, Numerics::kTfliteXnn}) {
    EXPECT_EQ(centre_in(with_numerics(plain, numerics)), 0);
    // Of values that were moved before.
    EXPECT_EQ(centre_in(with_numerics(average_of_sum("tie_breaking_point=-128, "), numerics)),
              -128);
  }
}

TEST(IntegerAverages, StayThoseOfOnnxWhereNothingElseHasTheirParameters) {
  const Graph alone = parse(
      "graph \"g\" opset 17 (%x : i8[1,1,2,1] q(0.1, 5)) -> (%y) {\n"
      "%t = Transpose(%x) {perm=[0,1,3,2]} : i8[1,1,1,2] q(0.1, 5)\n"
      "%y = AveragePool(%t) {kernel_shape=[1,2]} : i8[1,1,1,1] q(0.1, 5)\n}");
  EXPECT_EQ(centre_in(with_tflite_averages(alone)), std::nullopt);
  EXPECT_EQ(centre_in(with_numerics(alone, Numerics::kTfliteRef)), 0);
}

}  // namespace
}  // namespace tare::test
