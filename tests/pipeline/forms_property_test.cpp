#include "tare/error.h"
#include "tare/execute.h"
#include "tare/integer_graph.h"
#include "tare/model_files.h"
#include "tare/quantize.h"

#include "lower/lower.h"
#include "support/files/folder.h"
#include "support/graphs.h"
#include "support/params.h"
#include "support/random/any_graph.h"
#include "support/same_structure.h"

#include <cmath>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

class AnyForm : public InFolder, public ::testing::WithParamInterface<std::uint32_t> {};

/// Scales are powers of two, so that all forms round the same numbers.
TEST_P(AnyForm, RunsAsTheIntegerGraphAndReadsBackToIt) {
  FakeQuantizedBuilder b(GetParam());
  const Graph integer = lower(any_graph(b));
  const auto results = Executable(integer).run(b.samples);
  for (const Form form : {Form::kQdq, Form::kQoperator, Form::kInteger}) {
    write_onnx(export_form(integer, form), path("q.onnx"));
    const Graph read = load_model(path("q.onnx"), {}, nullptr);
    EXPECT_EQ(Executable(read).run(b.samples), results) << print(integer) << print(read);
    // No rules: preparing would go on to merge what lowering brought together.
    const Graph again = lower_quantized(read, {}, Toolkit{});
    EXPECT_EQ(structural_difference(integer, again), "")
        << static_cast<int>(form) << print(integer) << print(again);
  }
}

/// Of 16 bits, whose float sums are not exact, only the structure is compared.
TEST_P(AnyForm, ReadsBackToTheIntegerGraphOfUnlikeTypes) {
  FakeQuantizedBuilder b(GetParam());
  b.wide = true;
  const Graph integer = lower(any_graph(b));
  EXPECT_NO_THROW((void)Executable(integer).run(b.samples));
  for (const Form form : {Form::kQdq, Form::kQoperator, Form::kInteger}) {
    write_onnx(export_form(integer, form), path("q.onnx"));
    const Graph again = lower_quantized(load_model(path("q.onnx"), {}, nullptr), {}, Toolkit{});
    EXPECT_EQ(structural_difference(integer, again), "")
        << static_cast<int>(form) << print(integer) << print(again);
  }
}

/// A product of any shape with weights in blocks of any size along any axis, of which only the
/// one that is summed over is usual.
TEST_P(AnyForm, ReadsBackBlocksOfWeights) {
  FakeQuantizedBuilder b(GetParam());
  const auto any = [&](std::int64_t low, std::int64_t high) {
    return b.random.integer(low, high);
  };
  const bool turned = any(0, 1) == 1;
  const std::int64_t inner = any(1, 9);
  const std::int64_t columns = any(1, 5);
  const Shape shape = turned ? Shape{columns, inner} : Shape{inner, columns};
  QuantParams params;
  params.storage = any(0, 1) == 0 ? DType::kInt8 : DType::kUint8;
  params.bits = any(0, 1) == 0 ? 4 : 0;
  params.axis = static_cast<int>(any(0, 1));
  params.block = static_cast<int>(any(1, 10));
  const auto at = static_cast<std::size_t>(*params.axis);
  const std::int64_t blocks = (shape[at] + params.block - 1) / params.block;
  const auto count = static_cast<std::size_t>(blocks * shape[1 - at]);
  const StorageRange range = params.range();
  params.scale.clear();
  params.zero_point.clear();
  for (std::size_t i = 0; i < count; ++i) {
    params.scale.push_back(std::ldexp(1.0F, static_cast<int>(any(-5, 0))));
    params.zero_point.push_back(
        any(0, 1) == 0 ? 0 : static_cast<std::int32_t>(any(range.low, range.high)));
  }
  const ValueId x = b.graph.add_input("x", f32({2, inner}));
  const ValueId operand = any(0, 1) == 0 ? x : b.quantized_and_back(x, u8(0.25F, 100));
  ValueId y = b.op(turned ? "Gemm" : "MatMul", {operand, b.weight(shape, params)}, {2, columns},
                   turned ? Attributes{{"transB", std::int64_t{1}}} : Attributes{});
  if (any(0, 1) == 0) {
    y = b.quantized_and_back(y, u8(0.5F, 7));
  }
  b.graph.set_outputs({y});
  const Graph integer = lower(b.graph);
  // Of small numbers, whose sums are exact.
  Tensor numbers(DType::kFloat32, {2, inner});
  for (float& number : numbers.mutable_view<float>()) {
    number = static_cast<float>(any(-8, 8)) / 4;
  }
  const std::vector<Tensor> samples{numbers};
  const auto results = Executable(integer).run(samples)[0].to_float();
  for (const Form form : {Form::kQdq, Form::kQoperator}) {
    write_onnx(export_form(integer, form), path("q.onnx"));
    const Graph read = load_model(path("q.onnx"), {}, nullptr);
    EXPECT_EQ(Executable(read).run(samples)[0].to_float(), results)
        << print(integer) << print(read);
    const Graph again = lower_quantized(read, {}, Toolkit{});
    EXPECT_EQ(structural_difference(integer, again), "")
        << static_cast<int>(form) << print(integer) << print(again);
  }
  EXPECT_THROW((void)export_form(integer, Form::kInteger), Error);
}

INSTANTIATE_TEST_SUITE_P(Random, AnyForm, ::testing::Range(0U, 200U));

}  // namespace
}  // namespace tare::test
