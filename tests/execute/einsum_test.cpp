// Equations of Einsum. Values of whole numbers are those of loops written out by hand; more are
// in the backend tests of ONNX.
#include "tare/error.h"

#include "graph/operators/einsum_equation.h"
#include "support/graphs.h"
#include "support/message.h"
#include "support/node_run.h"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

std::vector<int> letters(const char* text) {
  const std::string all(text);
  return {all.begin(), all.end()};
}

TEST(EinsumEquation, WithoutAnArrowKeepsWhatOccursOnceInAlphabeticalOrder) {
  EXPECT_EQ(parse_einsum("ij,jk", {{2, 3}, {3, 4}}).result, letters("ik"));
  EXPECT_EQ(parse_einsum("ba", {{2, 3}}).result, letters("ab"));
  EXPECT_EQ(parse_einsum("ii", {{2, 2}}).result, letters(""));
}

TEST(EinsumEquation, LabelsTheAxesOfAnEllipsisFromTheRight) {
  const EinsumEquation equation = parse_einsum("...ij, j ... -> ...i", {{5, 2, 3}, {3, 4, 5}});
  EXPECT_EQ(equation.operands[0], (std::vector<int>{-1, 'i', 'j'}));
  EXPECT_EQ(equation.operands[1], (std::vector<int>{'j', -2, -1}));
  EXPECT_EQ(equation.result, (std::vector<int>{-2, -1, 'i'}));
  EXPECT_EQ(equation.extents(equation.result, {{5, 2, 3}, {3, 4, 5}}), (Shape{4, 5, 2}));
}

TEST(EinsumEquation, SaysWhatIsWrongWithIt) {
  const auto fault = [](const std::string& text, const std::vector<Shape>& shapes) {
    return message_of(
        [&] {
          const EinsumEquation equation = parse_einsum(text, shapes);
          return equation.extents(equation.result, shapes);
        },
        ErrorCode::kInvalidModel);
  };
  EXPECT_EQ(fault("ij", {{2, 3, 4}}), "equation 'ij': 'ij' does not fit an operand of rank 3");
  EXPECT_EQ(fault("...ij", {{2}}),
            "equation '...ij': '...ij' does not fit an operand of rank 1");
  EXPECT_EQ(fault("i1", {{2, 3}}), "equation 'i1': '1' is no label");
  EXPECT_EQ(fault("ij,jk", {{2, 3}}), "equation 'ij,jk': the node has 1 operands");
  EXPECT_EQ(fault("ij", {{2, 3}, {3, 4}}), "equation 'ij': the node has 2 operands");
  EXPECT_EQ(fault("ij->ii", {{2, 3}}), "equation 'ij->ii': the result has a label twice");
  EXPECT_EQ(fault("ij->k", {{2, 3}}), "the result has a label that no operand has");
  EXPECT_EQ(fault("ii", {{2, 3}}), "extents 2 and 3 have one label");
  EXPECT_EQ(fault("", {{2}}), "equation '': '' does not fit an operand of rank 1");
}

Tensor counting(const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  std::iota(values.begin(), values.end(), 1.0F);
  return Tensor::of<float>(shape, values);
}

Tensor einsum(const char* equation, const std::vector<Tensor>& operands, const Shape& result) {
  std::vector<NodeInput> inputs;
  for (const Tensor& operand : operands) {
    inputs.push_back({operand});
  }
  return run_node(make_node("Einsum", {{"equation", std::string(equation)}}), inputs,
                  {typed(DType::kFloat32, result)})[0];
}

TEST(Einsum, AddsUpProductsOverLabelsThatTheResultHasNot) {
  const Tensor a = counting({2, 3, 4});
  const Tensor b = counting({4, 3, 5});
  const Tensor y = einsum("bij,jik->kb", {a, b}, {5, 2});
  for (std::size_t k = 0; k < 5; ++k) {
    for (std::size_t n = 0; n < 2; ++n) {
      float sum = 0;
      for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 4; ++j) {
          sum += a.view<float>()[(n * 3 + i) * 4 + j] * b.view<float>()[(j * 3 + i) * 5 + k];
        }
      }
      EXPECT_EQ(y.view<float>()[k * 2 + n], sum);
    }
  }
}

TEST(Einsum, TakesDiagonalsAndRepeatsExtentsOfOne) {
  EXPECT_EQ(einsum("ii->i", {counting({3, 3})}, {3}).to_float(), (std::vector<float>{1, 5, 9}));
  EXPECT_EQ(einsum("...,...", {counting({2, 1}), counting({3})}, {2, 3}).to_float(),
            (std::vector<float>{1, 2, 3, 2, 4, 6}));
  EXPECT_EQ(einsum("i,j,k->", {counting({2}), counting({2}), counting({2})}, {}).to_float(),
            (std::vector<float>{27}));
}

}  // namespace
}  // namespace tare::test
