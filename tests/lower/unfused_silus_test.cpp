#include "lower/forms/unfused_silus.h"

#include "tare/execute.h"
#include "tare/integer_graph.h"
#include "tare/model_files.h"

#include "support/graphs.h"
#include "support/same_structure.h"

#include <string>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

Graph with(const std::string& body) {
  return parse("graph \"g\" opset 17 (%x : f32[N=2,3]) -> (%y) {\n" + body + "\n}");
}

const std::vector<Tensor> kInputs{Tensor::of<float>({2, 3}, {-30, -1, -0.0F, 0.5F, 2, 90})};

TEST(UnfusedSilus, ComputeTheSameAndAreReadBack) {
  for (const char* product : {"Mul(%x, %s)", "Mul(%s, %x)"}) {
    const Graph graph =
        with("%s = Sigmoid(%x) : f32[2,3]\n%y = " + std::string(product) + " : f32[2,3]");
    EXPECT_TRUE(has_silus(graph));
    const Graph unfused = with_unfused_silus(graph);
    EXPECT_EQ(count_of(unfused, "Sum"), 1U);
    EXPECT_FALSE(has_silus(unfused));
    EXPECT_EQ(Executable(unfused).run(kInputs), Executable(graph).run(kInputs));
    EXPECT_EQ(structural_difference(graph, read_unfused_silus(unfused)), "");
  }
}

TEST(UnfusedSilus, AreOnlyWhereTheEngineWouldMergeThem) {
  for (const char* body : {
           "%h = Neg(%x) : f32[2,3]\n%s = Sigmoid(%h) : f32[2,3]\n%y = Mul(%x, %s) : f32[2,3]",
           "%s = Sigmoid(%x) : f32[2,3]\n%y = Add(%x, %s) : f32[2,3]",
           "%s = Sigmoid(%x) : f32[2,3]\n%p = Mul(%x, %s) : f32[2,3]\n"
           "%y = Add(%p, %s) : f32[2,3]",
       }) {
    const Graph graph = with(body);
    EXPECT_FALSE(has_silus(graph));
    EXPECT_EQ(print(with_unfused_silus(graph)), print(graph));
  }
}

TEST(UnfusedSilus, AreInFilesWhereTheTargetSaysSo) {
  const Graph graph = with("%s = Sigmoid(%x) : f32[2,3]\n%y = Mul(%x, %s) : f32[2,3]");
  Target target;
  for (const Form form : {Form::kQdq, Form::kQoperator}) {
    target.fuse_silu = true;
    EXPECT_EQ(count_of(export_form(graph, form, target), "Sum"), 0U);
    target.fuse_silu = false;
    EXPECT_EQ(count_of(export_form(graph, form, target), "Sum"), 1U);
  }
}

}  // namespace
}  // namespace tare::test
