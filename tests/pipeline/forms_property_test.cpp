#include "tare/onnx.h"
#include "tare/pipeline.h"

#include "io/folder.h"
#include "lower/any_graph.h"
#include "lower/same_structure.h"

#include <gtest/gtest.h>

namespace tare {
namespace {

class AnyForm : public InFolder, public ::testing::WithParamInterface<std::uint32_t> {};

/// Scales are powers of two, so that all forms round the same numbers.
TEST_P(AnyForm, RunsAsTheIntegerGraphAndReadsBackToIt) {
  testing::FakeQuantizedBuilder b(GetParam());
  const Graph integer = lower(testing::any_graph(b));
  const auto results = Executable(integer).run(b.samples);
  for (const Form form : {Form::kQdq, Form::kQoperator, Form::kInteger}) {
    write_onnx(export_form(integer, form), path("q.onnx"));
    const Graph read = load_model(path("q.onnx"), {}, nullptr);
    EXPECT_EQ(Executable(read).run(b.samples), results) << print(integer) << print(read);
    // No rules: preparing would go on to merge what lowering brought together.
    const Graph again = lower_quantized(read, {}, Toolkit{});
    EXPECT_EQ(testing::SameStructure(integer, again).difference(), "")
        << static_cast<int>(form) << print(integer) << print(again);
  }
}

/// Of 16 bits, whose float sums are not exact, only the structure is compared.
TEST_P(AnyForm, ReadsBackToTheIntegerGraphOfUnlikeTypes) {
  testing::FakeQuantizedBuilder b(GetParam());
  b.wide = true;
  const Graph integer = lower(testing::any_graph(b));
  EXPECT_NO_THROW((void)Executable(integer).run(b.samples));
  for (const Form form : {Form::kQdq, Form::kQoperator, Form::kInteger}) {
    write_onnx(export_form(integer, form), path("q.onnx"));
    const Graph again = lower_quantized(load_model(path("q.onnx"), {}, nullptr), {}, Toolkit{});
    EXPECT_EQ(testing::SameStructure(integer, again).difference(), "")
        << static_cast<int>(form) << print(integer) << print(again);
  }
}

INSTANTIATE_TEST_SUITE_P(Random, AnyForm, ::testing::Range(0U, 200U));

}  // namespace
}  // namespace tare
