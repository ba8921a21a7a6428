// The cases of TVM's fake-quantization tests in which only a part can become integer, as in
// graphs of quantization-aware training: what stands between conversions does, the rest stays.
#include "tare/execute.h"

#include "lower/lower.h"
#include "support/graphs.h"
#include "support/params.h"
#include "support/random/fake_quantized.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using Builder = FakeQuantizedBuilder;

const Shape kLeft{1, 4, 2};
const Shape kRight{1, 2, 4};
const Shape kProduct{1, 4, 4};

/// The integer graph, which gives the same results.
Graph lowered(const Builder& b) {
  Graph integer = lower(b.graph);
  EXPECT_EQ(Executable(integer).run(b.samples), Executable(b.graph).run(b.samples));
  return integer;
}

/// Nodes that compute on real values, by operator.
std::vector<std::string> float_operators_of(const Graph& graph) {
  std::vector<std::string> ops;
  for (const std::string& name : float_operators(graph)) {
    ops.push_back(graph.node(*graph.find_node(name)).op);
  }
  return ops;
}

/// The scale of the sums that a product is on integers, or 0.
float sum_scale(const Graph& graph) {
  for (const NodeId id : graph.nodes()) {
    const TensorType& type = graph.type(graph.node(id).outputs[0]);
    if (graph.node(id).op == "MatMul" && type.quant && type.dtype == DType::kInt32) {
      return type.quant->scale[0];
    }
  }
  return 0;
}

ValueId product(Builder& b) {
  const ValueId x = b.input(kLeft, i8(2, 0));
  return b.op("MatMul", {x, b.input(kRight, i8(6, 0))}, kProduct);
}

using Ops = std::vector<std::string>;

TEST(PartlyQuantized, AProductBecomesIntegerAndTheSumAfterItDoesNot) {
  Builder b(1);
  const ValueId sum = b.op("Add", {product(b), b.real(b.random.tensor({4}))}, kProduct);
  b.graph.set_outputs({sum});
  const Graph integer = lowered(b);
  EXPECT_EQ(float_operators_of(integer), Ops{"Add"});
  EXPECT_EQ(sum_scale(integer), 12);
}

TEST(PartlyQuantized, AConstantOnTheGridOfTheSumsIsAddedToThem) {
  Builder b(7);
  const ValueId sum =
      b.op("Add", {product(b), b.weight({4, 1}, params(DType::kInt32, 12, 0))}, kProduct);
  b.result(sum, i8(40, 3));
  const Graph integer = lowered(b);
  EXPECT_EQ(float_operators_of(integer), Ops{});
  for (const NodeId id : integer.nodes()) {
    EXPECT_NE(integer.node(id).op, "Dequantize");
    EXPECT_NE(integer.node(id).op, "Quantize");
  }
}

TEST(PartlyQuantized, AConstantOnAnotherGridIsNot) {
  Builder b(8);
  const ValueId sum =
      b.op("Add", {product(b), b.weight({4}, params(DType::kInt32, 11, 0))}, kProduct);
  b.graph.set_outputs({sum});
  EXPECT_EQ(float_operators_of(lowered(b)), Ops{"Add"});
}

TEST(PartlyQuantized, AnAverageBeforeAProductIsRoundedOnDemand) {
  Builder b(9);
  const ValueId x = b.input({1, 4, 24, 24}, u8(0.64F, 2));
  const ValueId average = b.op("AveragePool", {x}, {1, 4, 22, 22},
                               {{"kernel_shape", std::vector<std::int64_t>{3, 3}}});
  const ValueId w = b.weight({8, 4, 1, 1}, u8(0.5F, 10));
  b.result(b.op("Conv", {average, w}, {1, 8, 22, 22}), u8(1, 0));
  EXPECT_EQ(float_operators_of(lowered(b)), (Ops{"AveragePool", "Conv"}));

  const Graph integer = lower(with_rounded_averages(b.graph));
  EXPECT_EQ(float_operators_of(integer), Ops{});
  EXPECT_EQ(Executable(integer).run(b.samples), Executable(b.graph).run(b.samples));
}

TEST(PartlyQuantized, AProductAloneBecomesInteger) {
  Builder b(2);
  b.graph.set_outputs({product(b)});
  const Graph integer = lowered(b);
  EXPECT_EQ(float_operators_of(integer), Ops{});
  EXPECT_EQ(sum_scale(integer), 12);
}

TEST(PartlyQuantized, AProductWithOneRealFactorDoesNot) {
  Builder b(3);
  const ValueId x = b.input(kLeft, i8(2, 0));
  const ValueId w = b.real(b.random.tensor(kRight));
  b.graph.set_outputs({b.op("MatMul", {x, w}, kProduct)});
  EXPECT_EQ(float_operators_of(lowered(b)), Ops{"MatMul"});
}

TEST(PartlyQuantized, WhatMovesElementsBeforeAProductBecomesIntegerWithIt) {
  Builder b(4);
  const ValueId x = b.input({4, 2}, i8(2, 0));
  const ValueId reshaped = b.op("Reshape", {x, b.indices({1, 4, 2})}, kLeft);
  const ValueId w = b.input({1, 2, 1}, i8(6, 0));
  const ValueId wide = b.op("Expand", {w, b.indices({1, 2, 4})}, kRight);
  b.graph.set_outputs({b.op("MatMul", {reshaped, wide}, kProduct)});
  const Graph integer = lowered(b);
  EXPECT_EQ(float_operators_of(integer), Ops{});
  EXPECT_EQ(sum_scale(integer), 12);
}

TEST(PartlyQuantized, NothingChangesWhereNothingIsQuantized) {
  Builder b(6);
  const ValueId x = b.graph.add_input("x", f32(kLeft));
  b.samples.push_back(b.random.tensor(kLeft));
  b.graph.set_outputs({b.op("MatMul", {x, b.real(b.random.tensor(kRight))}, kProduct)});
  EXPECT_EQ(print(lowered(b)), print(b.graph));
}

}  // namespace
}  // namespace tare::test
